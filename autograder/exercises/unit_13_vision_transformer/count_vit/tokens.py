"""Exercise 7 again: what is miscounted before the blocks and after them."""

from autograder.exercises.unit_13_vision_transformer.count_vit.declaration import _count, count_vit


@count_vit.misconception
def one_vector_missing(*sizes):
    """D parameters are missing. Three vectors of D numbers are easily forgotten: the class token, its row in the table of
    positions, and the bias of the patch embedding."""
    return _count(sizes, token=lambda D, **_: 0 * D)


@count_vit.misconception
def two_vectors_missing(*sizes):
    """2·D parameters are missing. So many has the last LayerNorm, weight and bias; and so many have two of these three: the
    class token, its row in the table of positions, the bias of the patch embedding."""
    return _count(sizes, norm=lambda D, **_: 0 * D)


@count_vit.misconception
def four_vectors_missing(*sizes):
    """4·D parameters are missing in the whole model. So many have the last LayerNorm (2·D) and two of these three, D each: the
    class token, its row in the table of positions, the bias of the patch embedding."""
    return _count(sizes, norm=lambda D, **_: -2 * D)


@count_vit.misconception
def three_vectors_missing(*sizes):
    """3·D parameters are missing. The last LayerNorm has 2·D; the class token, its row in the table of positions and the bias
    of the patch embedding have D each."""
    return _count(sizes, norm=lambda D, **_: -D)


@count_vit.misconception
def one_vector_too_many(*sizes):
    """There are D parameters too many. The class token is one vector, the table of positions has N + 1 rows, and the patch
    embedding has one bias, a vector of D numbers."""
    return _count(sizes, token=lambda D, **_: 2 * D)


@count_vit.misconception
def two_vectors_too_many(*sizes):
    """There are 2·D parameters too many. So many has one more LayerNorm: there is one after the last block, and none before
    the first. So many has also a second token with its position: the distillation token of DeiT, which a ViT does not have."""
    return _count(sizes, norm=lambda D, **_: 4 * D)


@count_vit.misconception
def channels_left_out(*sizes):
    """The patch embedding is counted without the C channels. A patch has C·P² numbers, so its weight has C·P²·D."""
    return _count(sizes, patches=lambda P, D, **_: P * P * D + D)


@count_vit.misconception
def side_not_squared(*sizes):
    """The patch embedding is counted as C·P·D + D. A patch is P pixels high and P pixels wide: it has C·P² numbers."""
    return _count(sizes, patches=lambda C, P, D, **_: C * P * D + D)


@count_vit.misconception
def an_embedding_for_each_patch(*sizes):
    """The patch embedding is counted once for each of the N patches. They share it, as the positions of an image share the
    weight of a convolution: C·P²·D + D, however many patches there are."""
    return _count(sizes, patches=lambda N, C, P, D, **_: N * (C * P * P * D + D))


@count_vit.misconception
def patch_embedding_left_out(*sizes):
    """The patch embedding is missing: C·P²·D of its weight and D of its bias."""
    return _count(sizes, patches=lambda D, **_: 0 * D)


@count_vit.misconception
def positions_left_out(*sizes):
    """The table of positions is missing. It is learned: (N + 1)·D parameters, a row for each patch and one for the class
    token."""
    return _count(sizes, positions=lambda D, **_: 0 * D)


@count_vit.misconception
def positions_of_one_side(*sizes):
    """The table of positions has size/P + 1 rows: the patches of one side. There are as many rows of patches as columns: N =
    (size/P)²."""
    return _count(sizes, positions=lambda size, P, D, **_: (size // P + 1) * D)


@count_vit.misconception
def positions_of_pixels(*sizes):
    """The table of positions has a row for each pixel. Positions belong to tokens, and a token is a patch of P × P pixels: N =
    (size/P)²."""
    return _count(sizes, positions=lambda size, D, **_: (size * size + 1) * D)


@count_vit.misconception
def positions_of_patch_pixels(*sizes):
    """The number of patches is taken to be (size²)/P, so that only one side is divided. Both sides are divided by P: N =
    (size/P)²."""
    return _count(sizes, positions=lambda size, P, D, **_: (size * size // P + 1) * D)


@count_vit.misconception
def positions_in_each_block(*sizes):
    """The table of positions is counted in each block. It is added once, before the first block."""
    return _count(sizes, positions=lambda N, D, L, **_: L * (N + 1) * D)


@count_vit.misconception
def last_norm_in_each_block(*sizes):
    """The count is that of 3·L LayerNorms. Each block has two, and one more stands after the last block: 2·L + 1."""
    return _count(sizes, norm=lambda D, L, **_: L * 2 * D)


@count_vit.misconception
def bias_of_the_head_left_out(*sizes):
    """The bias of the head is missing: one number for each class."""
    return _count(sizes, head=lambda D, classes, **_: D * classes)


@count_vit.misconception
def bias_of_the_head_as_wide_as_its_input(*sizes):
    """The bias of the head is counted as D. A bias is as wide as what comes out of its layer: one number for each class."""
    return _count(sizes, head=lambda D, classes, **_: D * classes + D)


@count_vit.misconception
def head_left_out(*sizes):
    """The head is missing: D·classes parameters of its weight and one for each class of its bias."""
    return _count(sizes, head=lambda D, **_: 0 * D)


@count_vit.misconception
def head_on_all_tokens(*sizes):
    """The head is counted as if it read all N + 1 tokens side by side. It reads one vector of width D, the class token's or
    the mean."""
    return _count(sizes, head=lambda N, D, classes, **_: (N + 1) * D * classes + classes)


@count_vit.misconception
def two_heads(*sizes):
    """The count is that of DeiT, with a distillation token, its position and a second head: 2·D + D·classes + classes more. A
    ViT has the class token and one head alone."""
    return _count(sizes, norm=lambda D, **_: 4 * D, head=lambda D, classes, **_: 2 * (D * classes + classes))


@count_vit.misconception
def always_three_channels(*sizes):
    """The images are taken to have three channels. How many they have is given: C."""
    return _count(sizes, patches=lambda P, D, **_: 3 * P * P * D + D)
