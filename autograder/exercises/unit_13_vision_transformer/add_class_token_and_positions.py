"""Exercise 4: the class token in front of the patches, and the positions."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """A position for each patch, and one more."""
    return {"positions": rng.standard_normal((sizes["N"] + 1, sizes["D"])).astype(np.float32)}


def _case(text, **more):
    return Case(text, values={"positions": None}, **more)  # whose first axis is no size of its own


@exercise(
    points=1,
    section="The class token and the positions",
    source="Dosovitskiy et al. 2021, section 3.1, equation 1",
    outputs="X",
    formula="X[b, 0] = class_token + positions[0] and X[b, n] = patches[b, n − 1] + positions[n] for n = 1, …, N; patches"
    " [B, N, D], class_token [D], positions [N+1, D] give X [B, N+1, D]",
    cases=[
        _case("a batch of images"),
        _case("one image", sizes={"B": 1}),
        _case("more images than patches", sizes={"B": 7, "N": 4}),
        _case("as many images as tokens", sizes={"B": 6, "N": 5}, edge=True),
    ],
    draws=_drawn,
)
def add_class_token_and_positions(
    patches: Float[Tensor, "B N D"], class_token: Float[Tensor, "D"], positions: Float[Tensor, "N+1 D"]
) -> Float[Tensor, "B N+1 D"]:
    rows = [[class_token, *image.unbind()] for image in patches]
    return torch.stack([torch.stack([x + positions[n] for n, x in enumerate(row)]) for row in rows])


def _tokens(patches, class_token, last=False):
    """[B, N+1, D], without positions."""
    first = class_token.expand(len(patches), 1, -1)
    return torch.cat([patches, first] if last else [first, patches], dim=1)


@add_class_token_and_positions.misconception
def class_token_last(patches, class_token, positions):
    """The class token stands behind the patches, and each patch has the position that belongs to the token before it. The
    class token is token 0: it comes first, and patch n − 1 is token n."""
    return _tokens(patches, class_token, last=True) + positions


@add_class_token_and_positions.misconception
def class_token_last_with_its_position(patches, class_token, positions):
    """Each token has its own position, but the class token stands behind the patches. It is token 0: it comes first in every
    sequence."""
    return (_tokens(patches, class_token) + positions).roll(-1, dims=1)


@add_class_token_and_positions.misconception
def class_token_without_position(patches, class_token, positions):
    """The patches are right, but the class token has no position. Positions are added to all N + 1 tokens, and the first of
    them, positions[0], is the class token's."""
    return torch.cat([class_token.expand(len(patches), 1, -1), patches + positions[1:]], dim=1)


@add_class_token_and_positions.misconception
def positions_one_too_early(patches, class_token, positions):
    """The class token has no position, and the patches have those of the tokens before them, from positions[0] on. The first
    position is the class token's: patch n − 1 is token n, and has positions[n]."""
    return torch.cat([class_token.expand(len(patches), 1, -1), patches + positions[:-1]], dim=1)


@add_class_token_and_positions.misconception
def last_position_for_the_class_token(patches, class_token, positions):
    """The class token stands first, but has the last position, and the patches have the positions from positions[0] on. Token n
    has positions[n], and the class token is token 0."""
    return _tokens(patches, class_token) + positions.roll(1, dims=0)


@add_class_token_and_positions.misconception
def class_token_added_to_the_patches(patches, class_token, positions):
    """The class token was added to each patch, and there are N vectors. It is a token of its own, in front of the patches: X has
    N + 1 vectors."""
    return patches + class_token + positions[1:]


@add_class_token_and_positions.misconception
def class_token_in_place_of_a_patch(patches, class_token, positions):
    """The class token stands in the place of the first patch, which is lost. It comes in front of all N patches: X has N + 1
    vectors."""
    return _tokens(patches[:, 1:], class_token) + positions[:-1]


@add_class_token_and_positions.misconception
def class_token_as_one_more_image(patches, class_token, positions):
    """The class token became one more image of the batch, [B+1, …]. It is one more token of every image: join along the axis of
    the tokens, dim=1."""
    B, N, D = patches.shape
    return torch.cat([class_token.expand(1, N, D), patches]) + positions[1:]


@add_class_token_and_positions.misconception
def class_token_left_out(patches, class_token, positions):
    """There is no class token: these are the patches with their positions. In front of them stands one more vector, class_token
    + positions[0], in every sequence."""
    return patches + positions[1:]


@add_class_token_and_positions.misconception
def class_token_for_the_first_image(patches, class_token, positions):
    """Only the first image has the class token; in the place of the others' there are zeros, with a position added. All images
    of the batch begin with the same class token."""
    X = torch.cat([torch.zeros_like(patches[:, :1]), patches], dim=1)
    return X + F.pad(class_token[None, None], (0, 0, 0, len(X[0]) - 1, 0, len(X) - 1)) + positions


@add_class_token_and_positions.misconception
def positions_as_features(patches, class_token, positions):
    """The positions stand beside the tokens, so that the vectors are 2·D wide. They are added to them: X has D features, as the
    patches have."""
    X = _tokens(patches, class_token)
    return torch.cat([X, positions.expand_as(X)], dim=-1)


@add_class_token_and_positions.misconception
def class_token_added_to_the_patches_too(patches, class_token, positions):
    """The class token stands in front of the patches, and was added to each of them as well. A patch's vector is the patch plus
    its position, and nothing else."""
    return _tokens(patches + class_token, class_token) + positions


@add_class_token_and_positions.misconception
def position_of_the_class_token_alone(patches, class_token, positions):
    """Only the class token has a position. Without theirs, the encoder cannot tell where in the image a patch lies: token n has
    positions[n], for all n from 0 to N."""
    return torch.cat([(class_token + positions[0]).expand(len(patches), 1, -1), patches], dim=1)


@add_class_token_and_positions.misconception
def one_position_for_all(patches, class_token, positions):
    """All tokens have the same position, positions[0]. It tells them nothing about where they are: token n has positions[n]."""
    return _tokens(patches, class_token) + positions[0]


@add_class_token_and_positions.misconception
def tokens_times_the_root_of_the_width(patches, class_token, positions):
    """The tokens were multiplied by √D before the positions were added. The first Transformer does so with its word embeddings; a
    Vision Transformer adds positions to the vectors as they are."""
    return _tokens(patches, class_token) * patches.shape[-1] ** 0.5 + positions


@add_class_token_and_positions.misconception
def multiplied_by_the_positions(patches, class_token, positions):
    """The tokens were multiplied by their positions. A position is added, as in the Transformer."""
    return _tokens(patches, class_token) * positions


@add_class_token_and_positions.alternative
def joined_and_added(patches, class_token, positions):
    """As a student would write it."""
    B, N, D = patches.shape
    tokens = torch.cat([class_token.expand(B, 1, D), patches], dim=1)
    return tokens + positions


@add_class_token_and_positions.alternative
def first_and_others(patches, class_token, positions):
    first = (class_token + positions[0]).repeat(len(patches), 1)
    return torch.cat((first.unsqueeze(1), patches + positions[1:]), dim=1)


@add_class_token_and_positions.alternative
def written_into_the_positions(patches, class_token, positions):
    X = positions.repeat(len(patches), 1, 1)
    X[:, 0] += class_token
    X[:, 1:] += patches
    return X


@add_class_token_and_positions.alternative
def padded(patches, class_token, positions):
    N = patches.shape[1]
    return F.pad(patches, (0, 0, 1, 0)) + F.pad(class_token[None], (0, 0, 0, N)) + positions


@add_class_token_and_positions.alternative
def image_by_image(patches, class_token, positions):
    return torch.stack([torch.vstack([class_token, image]) + positions for image in patches])
