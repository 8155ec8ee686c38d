"""Exercise 3: a vector for each patch, by a strided convolution and by the matrix that it holds."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise

CONVOLUTION, MATRIX = "as a convolution", "as a matrix"


def _case(part, text, edge=False, layout="", **sizes):
    left_out = {"patches" if part == CONVOLUTION else "images": None}
    return Case(text, values=left_out, sizes=sizes, part=part, edge=edge, layout=layout)


@exercise(
    points={CONVOLUTION: 1, MATRIX: 1},
    section={CONVOLUTION: "A strided convolution does the same", MATRIX: "Patches as tokens"},
    source="Dosovitskiy et al. 2021, section 3.1, equation 1",
    outputs="X",
    formula="X[b, n] = W p + bias, p [C*P*P] = patch n of image b; patches are counted row by row, their numbers in the order"
    " channel, row, column; W [D, C*P*P] = the layer's weight [D, C, P, P], flattened; images [B, C, rows*P, columns*P] or"
    " patches [B, rows*columns, C*P*P] give X [B, rows*columns, D]",
    cases=[
        _case(CONVOLUTION, "a batch of images", C=2, P=3),
        _case(CONVOLUTION, "larger patches of images", B=4, C=1, P=5, rows=2, columns=3, D=8),
        _case(CONVOLUTION, "one image", B=1, C=2, P=3, rows=4, columns=5, D=7),
        _case(CONVOLUTION, "images with one row of patches", P=3, rows=1, columns=5, B=2, C=4, D=6),
        _case(CONVOLUTION, "each pixel of an image is a patch", P=1, C=2),
        _case(CONVOLUTION, "each pixel of a view is a patch", P=1, C=2, layout="transposed", edge=True),
        _case(CONVOLUTION, "as many patches as features", B=2, C=3, P=2, rows=2, columns=3, D=6, edge=True),
        _case(CONVOLUTION, "images with hundreds of patches", B=2, C=3, P=4, rows=13, columns=17, edge=True),
        _case(MATRIX, "patches of a batch", C=2, P=3),
        _case(MATRIX, "larger patches", B=4, C=1, P=5, rows=2, columns=3, D=8),
        _case(MATRIX, "patches of one image", B=1, C=2, P=3, rows=4, columns=5, D=7),
        _case(MATRIX, "each pixel is a patch", P=1, C=2),
        _case(MATRIX, "as many features as numbers in a patch", B=2, C=3, P=2, rows=5, columns=4, D=12, edge=True),
        _case(MATRIX, "hundreds of patches", B=2, C=3, P=4, rows=13, columns=17, edge=True),
    ],
)
class PatchEmbedding(nn.Module):
    def __init__(self, C: int, P: int, D: int):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(
        self,
        images: Float[Tensor, "B C rows*P columns*P"] | None,
        patches: Float[Tensor, "B rows*columns C*P*P"] | None = None,
    ) -> Float[Tensor, "B rows*columns D"]:
        weight, bias = self.projection.weight, self.projection.bias
        if patches is None:
            patches = F.unfold(images, weight.shape[2:], stride=self.projection.stride).mT
        return torch.einsum("bncij,dcij->bnd", patches.unflatten(2, weight.shape[1:]), weight) + bias


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


@PatchEmbedding.alternative
def as_a_student(self, images, patches=None):
    if images is not None:
        grid = self.projection(images)  # [B, D, rows, columns]
        return grid.flatten(2).transpose(1, 2)
    weight = self.projection.weight.flatten(1)  # [D, C*P*P]
    return patches @ weight.T + self.projection.bias


@PatchEmbedding.alternative
def with_linear(self, images, patches=None):
    if patches is None:
        return self.projection(images).permute(0, 2, 3, 1).flatten(1, 2)
    return F.linear(patches, self.projection.weight.view(self.projection.out_channels, -1), self.projection.bias)


@PatchEmbedding.alternative
def always_the_matrix(self, images, patches=None):
    weight, bias = self.projection.weight, self.projection.bias
    if images is not None:
        P = weight.shape[-1]
        patches = images.unfold(2, P, P).unfold(3, P, P).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
    return torch.einsum("bnp,dp->bnd", patches, weight.reshape(len(weight), -1)) + bias


@PatchEmbedding.alternative
def always_the_convolution(self, images, patches=None):
    if images is not None:
        return torch.einsum("bdrs->brsd", self.projection(images)).flatten(1, 2)
    small = patches.flatten(0, 1).unflatten(1, self.projection.weight.shape[1:])  # [B*N, C, P, P]
    return self.projection(small).reshape(*patches.shape[:2], -1)


@PatchEmbedding.alternative
class patch_by_patch(PatchEmbedding.reference):
    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.P = P

    def forward(self, images, patches=None):
        if patches is None:
            strips = [strip.split(self.P, dim=3) for strip in images.split(self.P, dim=2)]
            return torch.cat([self.projection(patch).flatten(2).mT for strip in strips for patch in strip], dim=1)
        weight = self.projection.weight.flatten(1)
        return torch.stack([patch @ weight.mT + self.projection.bias for patch in patches.unbind(1)], dim=1)
