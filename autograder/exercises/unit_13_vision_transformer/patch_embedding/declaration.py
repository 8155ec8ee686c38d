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
