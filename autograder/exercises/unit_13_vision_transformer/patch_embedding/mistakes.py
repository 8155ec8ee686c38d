"""Mistakes of a patch embedding: what the layer is, how its result becomes a sequence, which weight meets the patches."""

from torch import nn

from autograder.exercises.unit_13_vision_transformer.patch_embedding.declaration import PatchEmbedding


def _tokens(self, images, patches, join=lambda grid: grid.flatten(2).mT, turn=lambda weight: weight):
    """What is wrong may be how the convolution's result is joined, or the order of what is in the weight."""
    if patches is None:
        return join(self.projection(images))
    return patches @ turn(self.projection.weight).flatten(1).T + self.projection.bias


def _declare(name, sentence, **wrong):
    def forward(self, images, patches=None):
        return _tokens(self, images, patches, **wrong)

    forward.__name__, forward.__doc__ = name, sentence
    PatchEmbedding.misconception(forward)


_declare(
    "features_in_front",
    "The positions of the convolution's result were joined, but its D features still stand in front of them:"
    " [B, D, rows*columns]. A token is a row: exchange the last two axes.",
    join=lambda grid: grid.flatten(2),
)
_declare(
    "grid_of_the_convolution",
    "This is the convolution's result as it is, [B, D, rows, columns]. A Transformer reads a sequence: join the two axes of the"
    " grid, and put the features last.",
    join=lambda grid: grid,
)
_declare(
    "still_a_grid",
    "The features are last, but the tokens are still a grid of rows and columns. They should be one axis of rows*columns tokens.",
    join=lambda grid: grid.permute(0, 2, 3, 1),
)
_declare(
    "reshaped_without_moving",
    "The result of the convolution, [B, D, rows, columns], was only given another shape: each row of X now mixes features of"
    " several patches. reshape keeps the order of the numbers, so the axis of the features has to be moved to the end first.",
    join=lambda grid: grid.reshape(grid.shape[0], -1, grid.shape[1]),
)
_declare(
    "only_one_axis_moved",
    "Features and rows were exchanged before the reshape, so that a row of X mixes features of several patches. Both axes of the"
    " grid come before the features: permute(0, 2, 3, 1).",
    join=lambda grid: grid.transpose(1, 2).reshape(grid.shape[0], -1, grid.shape[1]),
)
_declare(
    "column_by_column",
    "The tokens are right, but they are counted column by column. Asked for is row by row from the top left.",
    join=lambda grid: grid.mT.flatten(2).mT,
)
_declare(
    "averaged",
    "The tokens were averaged to one vector for the whole image. Each patch is a token by itself: keep all rows*columns of them.",
    join=lambda grid: grid.mean(dim=(2, 3)),
)
_declare(
    "images_joined",
    "The tokens of all images stand in one long list. Each image keeps its own list, along the batch axis B.",
    join=lambda grid: grid.permute(0, 2, 3, 1).flatten(0, 2),
)


@PatchEmbedding.misconception
class a_patch_at_each_pixel(PatchEmbedding.reference):
    """The kernel moves on by one pixel, which is the default of nn.Conv2d, so that the patches overlap and there are many more of
    them. Patches lie side by side: the stride is P too."""

    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.projection = nn.Conv2d(C, D, kernel_size=P)

    def forward(self, images, patches=None):
        return _tokens(self, images, patches)


@PatchEmbedding.misconception
class padded(PatchEmbedding.reference):
    """The image was padded with zeros before it was cut, so that the patches lie elsewhere and those at the edge are partly
    empty. Height and width are multiples of P: no padding is needed."""

    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P, padding=P // 2)

    def forward(self, images, patches=None):
        return _tokens(self, images, patches)


@PatchEmbedding.misconception
def weight_given_another_shape(self, images, patches=None):
    """The weight was only given the shape [C*P*P, D], so that each column of this matrix mixes numbers of several kernels.
    reshape keeps the order of the numbers: make it [D, C*P*P] first, a row for each kernel, then transpose."""
    if patches is None:
        return _tokens(self, images, patches)
    weight, bias = self.projection.weight, self.projection.bias
    return patches @ weight.reshape(-1, len(weight)) + bias


@PatchEmbedding.misconception
def weight_not_transposed(self, images, patches=None):
    """The weight, flattened, is [D, C*P*P], one row for each feature, and does not fit behind the patches. From the right it acts
    as [C*P*P, D]: transpose it, or use F.linear, which does."""
    if patches is None:
        return _tokens(self, images, patches)
    return patches @ self.projection.weight.flatten(1) + self.projection.bias


@PatchEmbedding.misconception
def bias_left_out_of_the_product(self, images, patches=None):
    """The product of patches and weight is right, but the bias is missing. The convolution adds it to each token, and so must the
    product."""
    X = _tokens(self, images, patches)
    return X if patches is None else X - self.projection.bias


_declare(
    "channel_fastest",
    "In the product with patches, the numbers of a kernel and those of a patch are not in one order: one of the two is taken as"
    " row, column, channel. Both have the order channel, row, column, so the weight [D, C, P, P] is flattened as it is.",
    turn=lambda weight: weight.permute(0, 2, 3, 1),
)
_declare(
    "kernels_transposed",
    "In the product with patches, rows and columns of each kernel are exchanged. Patch and kernel have the same order, channel,"
    " row, column, so the weight [D, C, P, P] is flattened as it is.",
    turn=lambda weight: weight.mT,
)
_declare(
    "axes_reversed",
    "In the product with patches, the numbers of a kernel have the order column, row, channel, as when .T reverses all four axes"
    " of the weight. Flatten each kernel first, [D, C*P*P], and transpose this matrix.",
    turn=lambda weight: weight.permute(0, 3, 2, 1),
)
_declare(
    "kernels_turned_round",
    "In the product with patches, the kernels are turned by 180°. What torch calls a convolution does not turn its kernel: each"
    " number of it meets the pixel at the same place of the patch.",
    turn=lambda weight: weight.flip(2, 3),
)
