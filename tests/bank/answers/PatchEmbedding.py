"""Answers for PatchEmbedding (assignment 13, exercise 3)."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import before, change, right, wrong


class _Base(nn.Module):
    """A correct layer, of which others replace a part."""

    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def from_images(self, images):
        return self.projection(images).flatten(2).transpose(1, 2)

    def from_patches(self, patches):
        return F.linear(patches, self.projection.weight.flatten(1), self.projection.bias)

    def forward(self, images, patches=None):
        return self.from_patches(patches) if images is None else self.from_images(images)


# ---------------------------------------------------------------------------------------------------------------- right


@right("flatten(2).mT of the convolution; matmul with the flattened weight's transpose plus bias")
class MatmulPlusBias(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(self, images, patches=None):
        if patches is not None:
            return patches @ self.projection.weight.flatten(1).mT + self.projection.bias
        return self.projection(images).flatten(2).mT


@right("einsum for both: axes of the convolution's result, and kernels times patches with six letters")
class ByEinsum(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(in_channels=C, out_channels=D, kernel_size=(P, P), stride=(P, P), bias=True)

    def forward(self, images, patches=None):
        layer = self.projection
        if images is not None:
            return torch.einsum("bdrc->brcd", layer(images)).flatten(1, 2)
        squares = patches.unflatten(-1, layer.weight.shape[1:])
        return torch.einsum("bncij,dcij->bnd", squares, layer.weight) + layer.bias


@right("permute to features last and reshape; addmm on all tokens of the batch")
class ByAddmm(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.D = D
        self.projection = nn.Conv2d(C, D, P, P)

    def forward(self, images, patches=None):
        if images is None:
            B, N, numbers = patches.shape
            matrix = self.projection.weight.reshape(self.D, numbers)
            flat = torch.addmm(self.projection.bias, patches.reshape(B * N, numbers), matrix.t())
            return flat.reshape(B, N, self.D)
        grid = self.projection(images).permute(0, 2, 3, 1)
        return grid.reshape(grid.shape[0], -1, self.D)


@right("movedim and flatten; the matrix times the transposed patches, turned back")
class MatrixFromTheLeft(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    @property
    def matrix(self):
        return self.projection.weight.flatten(start_dim=1)

    def forward(self, images, patches=None):
        if images is None:
            turned = self.matrix @ patches.transpose(-2, -1) + self.projection.bias[:, None]
            return turned.transpose(-2, -1)
        return self.projection(images).movedim(1, -1).flatten(1, 2)


@right("F.conv2d with the layer's own weight, bias and stride; tensordot over the three axes of a kernel")
class FunctionalConvolution(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(self, images, patches=None):
        weight, bias = self.projection.weight, self.projection.bias
        if images is not None:
            return F.conv2d(images, weight, bias, stride=self.projection.stride).flatten(2).swapaxes(1, 2)
        squares = patches.reshape(*patches.shape[:2], *weight.shape[1:])
        return torch.tensordot(squares, weight, dims=([2, 3, 4], [1, 2, 3])) + bias


@right("match on which one is None, two methods, baddbmm with an expanded matrix")
class ByMatch(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def of_patches(self, patches):
        matrix = self.projection.weight.flatten(1).t().expand(patches.shape[0], -1, -1)
        return torch.baddbmm(self.projection.bias.expand(1, 1, -1), patches, matrix)

    def of_images(self, images):
        tokens = self.projection(images)
        B, D, rows, columns = tokens.shape
        return tokens.reshape(B, D, rows * columns).permute(0, 2, 1)

    def forward(self, images, patches=None):
        match images, patches:
            case None, _:
                return self.of_patches(patches)
            case _:
                return self.of_images(images)


@right("Image by image: the convolution's result is stacked from rows of the grid; torch.vmap of the linear layer")
class RowsOfTheGrid(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        layers = {"projection": nn.Conv2d(C, D, kernel_size=P, stride=P)}
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, images, patches=None):
        if images is None:
            matrix = self.projection.weight.reshape(self.projection.out_channels, -1)
            return torch.vmap(lambda p: p @ matrix.T + self.projection.bias)(patches)
        grid = self.projection(images)
        return torch.cat([row.transpose(1, 2) for row in grid.unbind(2)], dim=1)


@right("Subclass of a helper class; images have a default too, which nobody has to use")
class WithTwoDefaults(_Base):
    def forward(self, images=None, patches=None):
        if images is not None:
            return super().from_images(images)
        return super().from_patches(patches)


@right("Tokens are computed with features in front in both cases and turned together at the end")
class TurnedTogether(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(self, images, patches=None):
        if patches is None:
            features = self.projection(images)
        else:
            kernels = self.projection.weight.flatten(1)
            features = torch.matmul(kernels, patches.permute(0, 2, 1)) + self.projection.bias.unsqueeze(-1)
        return features.flatten(2).permute(0, 2, 1)


@right("A product of kernels as a matrix for each channel, added up over the channels")
class SumOverChannels(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.C, self.P = C, P
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(self, images, patches=None):
        if images is not None:
            return self.projection(images).permute(0, 2, 3, 1).flatten(1, 2)
        parts = patches.unflatten(2, (self.C, self.P * self.P))
        kernels = self.projection.weight.flatten(2)  # D, C, P*P
        return torch.einsum("bnck,dck->bnd", parts, kernels) + self.projection.bias


@right("The bias joins the matrix as one more column, and the patches get a number 1")
class BiasInTheMatrix(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(self, images, patches=None):
        if images is None:
            matrix = torch.cat([self.projection.weight.flatten(1), self.projection.bias[:, None]], dim=1)
            return F.linear(F.pad(patches, (0, 1), value=1.0), matrix)
        return self.projection(images).flatten(-2).transpose(-1, -2)


@right("view joins rows and columns of the convolution's result, whose two layouts both allow it")
class ViewOfTheGrid(_Base):
    def from_images(self, images):
        grid = self.projection(images)
        return grid.view(grid.shape[0], grid.shape[1], -1).transpose(1, 2)


# ------------------------------------------------------------------------------------------------------ wrong: concepts


change(_Base.from_images, "FeaturesStayInFront",
       "from images the tokens come as [B, D, rows*columns]: features are not moved to the end", "shape",
       (".flatten(2).transpose(1, 2)", ".flatten(2)"))
change(ViewOfTheGrid, "ReshapedNotTurned",
       "from images [B, D, rows, columns] is reshaped to [B, rows*columns, D] without moving the features", "concept",
       ("return grid.view(grid.shape[0], grid.shape[1], -1).transpose(1, 2)",
        "return grid.reshape(grid.shape[0], -1, grid.shape[1])"))
change(_Base.from_images, "ColumnByColumn", "from images the tokens are counted column by column", "concept",
       (".flatten(2).transpose(1, 2)", ".permute(0, 3, 2, 1).flatten(1, 2)"))
change(_Base.from_images, "GridKept", "from images the grid keeps its two axes: [B, rows, columns, D]", "shape",
       (".flatten(2).transpose(1, 2)", ".permute(0, 2, 3, 1)"))
change(_Base.from_images, "CountedBackwards",
       "from images the tokens are counted from the last patch to the first", "concept",
       (".transpose(1, 2)", ".transpose(1, 2).flip(1)"))
change(_Base.from_patches, "KernelChannelsLast",
       "from patches each kernel is flattened in the order row, column, channel", "concept",
       (".flatten(1)", ".permute(0, 2, 3, 1).flatten(1)"))
change(_Base.from_patches, "KernelTransposed",
       "from patches the rows and columns of each kernel are exchanged", "concept",
       (".flatten(1)", ".mT.flatten(1)"))
change(_Base.from_patches, "KernelTurned",
       "from patches each kernel is turned by 180 degrees, as in a convolution of mathematics", "concept",
       (".flatten(1)", ".flip(2, 3).flatten(1)"))


# Right, and not registered: answers below are changes of it.
class _PlainFromPatches(_Base):
    def from_patches(self, patches):
        return patches @ self.projection.weight.flatten(1).T + self.projection.bias


change(_PlainFromPatches, "WeightReshapedNotTransposed",
       "from patches the weight is reshaped to [C*P*P, D] instead of flattened to [D, C*P*P] and transposed", "concept",
       before("return", "weight = self.projection.weight"),
       ("self.projection.weight.flatten(1).T", "weight.reshape(-1, weight.shape[0])"))
change(_PlainFromPatches, "NoBiasFromPatches", "from patches the bias is missing", "concept",
       (".T + self.projection.bias", ".T"))


# Right, and not registered: answers below are changes of it.
class _PlainFromImages(_Base):
    def from_images(self, images):
        return super().from_images(images)


change(_PlainFromImages, "BiasTwiceFromImages",
       "from images the bias is added once more to the result of the convolution", "concept",
       ("super().from_images(images)", "super().from_images(images) + self.projection.bias"))
change(_PlainFromPatches, "BiasForEachPixel",
       "from patches the bias is added for each of the C*P*P numbers instead of once", "concept",
       ("self.projection.bias", "patches.shape[-1] * self.projection.bias"))
change(_PlainFromPatches, "BiasSubtracted", "from patches the bias is subtracted", "concept",
       (".T + self.projection.bias", ".T - self.projection.bias"))
change(_PlainFromPatches, "MeanOfProducts", "from patches the products are averaged instead of summed", "concept",
       (".flatten(1).T", ".flatten(1).T / patches.shape[-1]"))


@wrong("the tokens are multiplied by the root of D, as word embeddings sometimes are", kind="concept")
class TimesRootOfD(_Base):
    def forward(self, images, patches=None):
        X = super().forward(images, patches)
        return X * math.sqrt(X.shape[-1])


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Base):
    def forward(self, images, patches=None):
        return super().forward(images, patches)


change(_PlainForward, "WithGelu", "a GELU follows the linear layer", "concept",
       ("return super().forward(images, patches)", "return F.gelu(super().forward(images, patches))"))
change(TimesRootOfD, "Normalised", "the tokens are normalised by a LayerNorm without weights at the end", "concept",
       ("X * math.sqrt(X.shape[-1])", "F.layer_norm(X, X.shape[-1:])"))
change(_PlainFromImages, "ImagesScaled", "the images are divided by 255 before the convolution", "concept",
       (".from_images(images)", ".from_images(images / 255)"))


# Right, and not registered: answers below are changes of it.
class _Plain(_Base):
    def from_patches(self, patches):
        return super().from_patches(patches)


change(_Plain, "PatchesCentred", "the mean of each patch is subtracted from it before the product", "concept",
       (".from_patches(patches)", ".from_patches(patches - patches.mean(-1, keepdim=True))"))
change(_PlainForward, "ClassTokenInFront", "a class token of zeros is put in front of the tokens", "concept",
       ("return super().forward(images, patches)", "return F.pad(super().forward(images, patches), (0, 0, 1, 0))"))


@wrong("from images each pixel is replaced by the mean of its channel in its patch before the convolution",
       kind="concept")
class MeansOfPatches(_Base):
    def from_images(self, images):
        P = self.projection.kernel_size[0]
        means = F.avg_pool2d(images, P)
        return super().from_images(F.interpolate(means, scale_factor=P, mode="nearest"))


# ------------------------------------------------------------------------------------------------------- wrong: modules


change(_Base.__init__, "StrideOne", "the convolution has stride 1, so there are more tokens than patches", "module",
       (".__init__()", ".__init__(C, P, D)"), ("P, stride=P", "P"))
change(_Base.__init__, "Padded", "the convolution has a padding of P // 2", "module",
       (".__init__()", ".__init__(C, P, D)"), ("stride=P", "stride=P, padding=P // 2"))
change(_Base.__init__, "WithoutBias", "the convolution has no bias", "module",
       (".__init__()", ".__init__(C, P, D)"), ("stride=P", "stride=P, bias=False"))
change(_Base.__init__, "ChannelsExchanged", "C and D of the convolution are exchanged", "module",
       (".__init__()", ".__init__(C, P, D)"), ("C, D", "D, C"))


@wrong("patches have a linear layer of their own, with other parameters than projection's", kind="module")
class OwnLayerForPatches(_Base):
    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.linear = nn.Linear(C * P * P, D)

    def from_patches(self, patches):
        return self.linear(patches)


@wrong("patches are multiplied by a copy of the weight made in __init__, a second parameter that does not follow "
       "projection's", kind="module")
class CopiedWeight(_Base):
    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.matrix = nn.Parameter(self.projection.weight.detach().flatten(1).clone())

    def from_patches(self, patches):
        return F.linear(patches, self.matrix, self.projection.bias)


@wrong("the weight as a matrix is kept from the first call with patches: later changes of the weight are not seen",
       kind="module")
class MatrixOfTheFirstCall(_Base):
    def from_patches(self, patches):
        if not hasattr(self, "matrix"):
            self.matrix = self.projection.weight.flatten(1).clone()
        return F.linear(patches, self.matrix, self.projection.bias)


@wrong("a learned scale for each feature is added, so there are other parameters than projection's", kind="module")
class LearnedScale(_Base):
    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.scale = nn.Parameter(torch.ones(D))

    def forward(self, images, patches=None):
        return super().forward(images, patches) * self.scale


@wrong("the convolution is called proj instead of projection", kind="module")
class OtherName(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.proj = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(self, images, patches=None):
        if images is None:
            return F.linear(patches, self.proj.weight.flatten(1), self.proj.bias)
        return self.proj(images).flatten(2).mT


@wrong("a batch normalisation without weights follows, which differs between training and eval mode", kind="module")
class BatchNormalised(_Base):
    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.norm = nn.BatchNorm1d(D, affine=False, track_running_stats=True)

    def forward(self, images, patches=None):
        return self.norm(super().forward(images, patches).mT).mT


change(TimesRootOfD, "SmallerInTraining",
       "in training mode the tokens are multiplied by 0.9, the mean effect of a dropout", "module",
       ("return X * math.sqrt(X.shape[-1])", "return 0.9 * X if self.training else X"))


@wrong("the bias is frozen: it gets no gradient", kind="gradient")
class FrozenBias(_Base):
    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.projection.bias.requires_grad_(False)


@wrong("projection is a linear layer: its weight is [D, C*P*P] instead of [D, C, P, P]", kind="module")
class LinearProjection(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.P = P
        self.projection = nn.Linear(C * P * P, D)

    def forward(self, images, patches=None):
        if images is not None:
            windows = images.unfold(2, self.P, self.P).unfold(3, self.P, self.P)
            patches = windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
        return self.projection(patches)


# -------------------------------------------------------------------------------------------------- wrong: two mistakes


@wrong("two mistakes: from images tokens are counted column by column, and from patches the bias is missing",
       kind="concept")
class ColumnsAndNoBias(_Base):
    def from_images(self, images):
        return self.projection(images).transpose(2, 3).flatten(2).mT

    def from_patches(self, patches):
        return patches @ self.projection.weight.flatten(1).T


@wrong("two mistakes: from patches the kernel's axes are in the order row, column, channel, and the bias counts twice",
       kind="concept")
class KernelOrderAndBias(_Base):
    def from_patches(self, patches):
        kernels = self.projection.weight.permute(0, 2, 3, 1).flatten(1)
        return F.linear(patches, kernels, 2 * self.projection.bias)


@wrong("two mistakes: features stay in front from images, and the weight is detached from patches", kind="gradient")
class FrontAndDetached(_Base):
    def from_images(self, images):
        return self.projection(images).flatten(2)

    def from_patches(self, patches):
        return F.linear(patches, self.projection.weight.detach().flatten(1), self.projection.bias)


@wrong("two mistakes: no bias at all, and a ReLU follows", kind="concept")
class NoBiasAndRelu(_Base):
    def __init__(self, C, P, D):
        super().__init__(C, P, D)
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P, bias=False)

    def forward(self, images, patches=None):
        return super().forward(images, patches).relu()


# ------------------------------------------------------------------------------------------- wrong: layout, sizes, edge


@wrong("from patches view joins the batch and the patches, which raises in other memory layouts", kind="layout")
class ViewOfPatches(_Base):
    def from_patches(self, patches):
        B, N, numbers = patches.shape
        return super().from_patches(patches.view(B * N, numbers)).view(B, N, -1)


change(_PlainFromImages, "ViewOfThePixels", "with P = 1 view joins height and width of the images, which raises for "
       "images sliced or transposed there", "layout",
       before("return", """
        if self.projection.kernel_size == (1, 1):
            return self.from_patches(images.view(*images.shape[:2], -1).mT)"""))
change(_PlainForward, "Squeezed", "squeeze() on the tokens removes every axis of size 1", "layout",
       ("super().forward(images, patches)", "super().forward(images, patches).squeeze()"))
change(TimesRootOfD, "SingleImageDropped", "a single image loses the axis of the batch", "edge",
       ("return X * math.sqrt(X.shape[-1])", "return X[0] if X.shape[0] == 1 else X"))
change(_PlainFromImages, "SinglePatchDropped",
       "from images a grid of one patch gives [B, D]: the axis of patches is squeezed", "edge",
       ("super().from_images(images)", "super().from_images(images).squeeze(1)"))
change(_Base.from_patches, "WeightSqueezed", "from patches the weight is squeezed before it is flattened: with D = 1 "
       "(unless a kernel is one number) the call raises", "edge",
       before("return", "weight = self.projection.weight.squeeze()"),
       ("self.projection.weight.flatten(1)", "weight.reshape(weight.shape[0] if weight.dim() else 1, -1)"))


@wrong("the features are moved to the end only if the last axis has not D entries, so not where there are D patches",
       kind="edge")
class TurnedIfNeeded(_Base):
    def from_images(self, images):
        X = self.projection(images).flatten(2)
        return X if X.shape[-1] == self.projection.out_channels else X.transpose(1, 2)


@wrong("from images the grid is taken to be square: a grid that is not raises", kind="edge")
class SquareGrid(_Base):
    def from_images(self, images):
        grid = self.projection(images)
        side = images.shape[2] // self.projection.kernel_size[0]
        return grid.reshape(grid.shape[0], grid.shape[1], side * side).transpose(1, 2)


change(_PlainFromImages, "PixelsReshaped", "with P = 1 the images' pixels are joined without moving the channels to "
       "the end before the linear layer", "edge",
       before("return", """
        if self.projection.kernel_size == (1, 1):
            return self.from_patches(images.reshape(images.shape[0], -1, images.shape[1]))"""))
change(_Plain, "NothingToDo",
       "where C*P*P equals D patches are taken to be tokens already and come back unchanged", "edge",
       before("return", """
        if patches.shape[-1] == self.projection.out_channels:
            return patches"""))
change(_Plain, "AtMost256", "only the first 256 patches get a token", "edge",
       (".from_patches(patches)", ".from_patches(patches[:, :256])"))
change(TimesRootOfD, "FirstImageForAll",
       "only the first image of the batch is embedded, and its tokens are repeated for all", "layout",
       ("X * math.sqrt(X.shape[-1])", "X[:1].expand_as(X)"))


# ------------------------------------------------------------------------------------- wrong: types, numerics, gradient


change(_Plain, "PatchesCast", "patches are cast to float32, which raises where the layer and the patches are of "
       "float64 or bfloat16", "numerics",
       (".from_patches(patches)", ".from_patches(patches.float())"))


@right("the convolution is computed in float32 and its result cast back, which loses precision (and overflows) in float64")
class ConvolutionInSingle(_Base):
    def from_images(self, images):
        layer = self.projection
        grid = F.conv2d(images.float(), layer.weight.float(), layer.bias.float(), stride=layer.stride)
        return grid.to(images.dtype).flatten(2).mT


@wrong("from patches the product is computed in bfloat16 and cast back", kind="numerics")
class ProductInHalf(_Base):
    def from_patches(self, patches):
        matrix = self.projection.weight.flatten(1).bfloat16()
        return (patches.bfloat16() @ matrix.mT).to(patches.dtype) + self.projection.bias


@wrong("from patches the tokens are written into torch.zeros without a type, so they are always float32",
       kind="numerics")
class ZerosWithoutType(_Base):
    def from_patches(self, patches):
        X = torch.zeros(*patches.shape[:2], self.projection.out_channels, device=patches.device)
        X[:] = super().from_patches(patches)
        return X


@wrong("from patches the tokens are written into a tensor on the CPU whatever the inputs' device is", kind="numerics")
class WrittenOnTheCpu(_Base):
    def from_patches(self, patches):
        found = super().from_patches(patches)
        X = torch.zeros(found.shape, dtype=found.dtype, device="cpu")
        X[:] = found
        return X


@wrong("1e4 is added to the patches and its product with the weight taken off again, which loses digits in float32",
       kind="numerics")
class ShiftedAndBack(_Base):
    def from_patches(self, patches):
        matrix = self.projection.weight.flatten(1)
        return F.linear(patches + 1e4, matrix) - 1e4 * matrix.sum(1) + self.projection.bias


change(_PlainFromImages, "PixelsClamped", "from images pixels are clamped to -1000 to 1000", "numerics",
       (".from_images(images)", ".from_images(images.clamp(-1000, 1000))"))
change(TimesRootOfD, "TinyTokensVanish", "tokens below 1e-7 in absolute value are set to 0", "numerics",
       ("X * math.sqrt(X.shape[-1])", "X.where(X.abs() > 1e-7, torch.zeros_like(X))"))
change(_Base.from_patches, "WeightDetached",
       "from patches the weight is detached: it gets no gradient from them", "gradient",
       (".flatten(1)", ".detach().flatten(1)"))
change(_PlainFromPatches, "BiasData",
       "from patches bias.data is added: the bias gets no gradient from them", "gradient",
       (".T + self.projection.bias", ".mT + self.projection.bias.data"))
change(_PlainFromImages, "ImagesDetached", "the images are detached: no gradient flows to them", "gradient",
       (".from_images(images)", ".from_images(images.detach())"))
change(_Plain, "PatchesWithoutGradient", "from patches everything is computed under torch.no_grad: no gradient flows "
       "to patches, weight or bias", "gradient",
       before("def from_patches(self, patches):", "@torch.no_grad()"))


@wrong("from images the weight is rebuilt by torch.tensor from a list, so it gets no gradient", kind="gradient")
class WeightRebuilt(_Base):
    def from_images(self, images):
        layer = self.projection
        weight = torch.tensor(layer.weight.tolist(), dtype=images.dtype, device=images.device)
        return F.conv2d(images, weight, layer.bias, stride=layer.stride).flatten(2).mT


# ------------------------------------------------------------------------------------------- wrong: process, interface


@wrong("from patches projection is applied to patches made squares again, so it is a convolution and no product of "
       "matrices", kind="process")
class PatchesConvolved(_Base):
    def from_patches(self, patches):
        B, N, _ = patches.shape
        squares = patches.reshape(B * N, *self.projection.weight.shape[1:])
        return self.projection(squares).reshape(B, N, -1)


@right("from images the convolution is called for one patch after the other instead of computing all tokens at once")
class PatchAfterPatch(_Base):
    def from_images(self, images):
        P = self.projection.kernel_size[0]
        parts = [part for band in images.split(P, dim=2) for part in band.split(P, dim=3)]
        return torch.stack([self.projection(part).flatten(1) for part in parts], dim=1)


@wrong("the given patches are changed: their mean is subtracted from them in place (the tokens are right)",
       kind="interface")
class CentredInPlace(_Base):
    def from_patches(self, patches):
        mean = patches.detach().mean()
        with torch.no_grad():
            patches.sub_(mean)
        return super().from_patches(patches) + mean * self.projection.weight.flatten(1).sum(1)


@wrong("the given images are changed: they are mirrored in place (the tokens are right)", kind="interface")
class FlippedInPlace(_Base):
    def from_images(self, images):
        X = super().from_images(images.clone())
        with torch.no_grad():
            images.copy_(images.flip(3))
        return X


@wrong("each call with images makes the weight smaller in place, so a second call gives another result",
       kind="interface")
class WeightDecays(_Base):
    def from_images(self, images):
        X = super().from_images(images.clone())
        with torch.no_grad():
            self.projection.weight.data = self.projection.weight.data * 0.99
        return X


@wrong("the layer keeps the tokens of its first images and adds half of them in later calls whose tokens have that "
       "shape", kind="interface")
class RemembersImages(_Base):
    def from_images(self, images):
        X = super().from_images(images)
        earlier = getattr(self, "earlier", None)
        self.earlier = X.detach() if earlier is None else earlier
        return X if earlier is None or earlier.shape != X.shape else X + 0.5 * earlier


change(ViewOfTheGrid, "WithTheGrid", "returns a tuple of the tokens and the size of the grid from images", "interface",
       ("return grid.view(grid.shape[0], grid.shape[1], -1).transpose(1, 2)",
        "return grid.flatten(2).mT, grid.shape[2:]"))
change(_PlainForward, "PatchesFirst",
       "the arguments of forward are patches, images, so calls by position exchange them", "interface",
       ("images, patches=None", "patches, images=None"))
change(_PlainForward, "NoDefault", "the patches have no default, so a call with images alone raises", "interface",
       ("patches=None", "patches"))


@right("the arguments of forward are called x and p, so calls by name fail")
class OtherArguments(_Base):
    def forward(self, x, p=None):
        return super().forward(x, p)


@wrong("the arguments of __init__ are in the order C, D, P, so P and D are exchanged when given by position",
       kind="interface")
class OtherOrder(_Base):
    def __init__(self, C, D, P):
        super().__init__(C, P, D)


change(_PlainForward, "TruthOfATensor",
       "forward asks for the truth value of the images, which raises for images of more than one number", "interface",
       ("super().forward(images, patches)", "self.from_images(images) if images else self.from_patches(patches)"))
