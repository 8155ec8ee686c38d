"""Networks of lesson 12 beside SAGAN's block: stacks of convolutions, networks for sets of points, a model of pixels."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.data.scenes import COLOURS, Scene

CELLS, PIXELS = 12, 4  # of a grid's side; of a cell's side
NOWHERE = -1  # the label of a cell that has nothing to answer


# The other object's colour -------------------------------------------------------------------------------------------


def other_colours(some: Sequence[Scene]) -> tuple[Int[Tensor, "B 12 12"], Int[Tensor, "B 12 12"]]:
    """For each cell of an object which colour the *other* object has, and how many cells away that one's nearest cell lies.

    Elsewhere both are NOWHERE. The distance is the larger of that in rows and that in columns.
    """
    colour, far = (torch.full((len(some), CELLS, CELLS), NOWHERE) for _ in range(2))
    rows, columns = torch.meshgrid(torch.arange(CELLS), torch.arange(CELLS), indexing="ij")
    for number, scene in enumerate(some):
        cells = [_cells(thing.box) for thing in scene.things]
        for own, other, thing in zip(cells, cells[::-1], scene.things[::-1], strict=True):
            (top, bottom), (left, right) = ((part.start, part.stop - 1) for part in other)
            apart = torch.maximum(
                torch.maximum(top - rows, rows - bottom), torch.maximum(left - columns, columns - right)
            )
            colour[number][own], far[number][own] = list(COLOURS).index(thing.colour), apart[own]
    return colour, far


def _cells(box: tuple[int, int, int, int]) -> tuple[slice, slice]:
    """Rows and columns of the cells that lie well inside a box."""
    left, top, right, bottom = box
    spans = ((round((low + 1) / PIXELS), round((high - 1) / PIXELS)) for low, high in ((top, bottom), (left, right)))
    return tuple(slice(low, max(high, low + 1)) for low, high in spans)


class Convolutions(nn.Module):
    """Grids [B, C, 12, 12] to the same: 3×3 convolutions with these gaps between their inputs, each with a residual.

    Where `width` is not C, convolutions of 1×1 lead there and back.
    """

    def __init__(self, C: int, gaps: Sequence[int], width: int | None = None):
        super().__init__()
        width = width or C
        self.there, self.back = (
            nn.Identity() if width == C else nn.Conv2d(*ends, 1) for ends in ((C, width), (width, C))
        )
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=gap, dilation=gap), nn.BatchNorm2d(width), nn.ReLU())
            for gap in gaps
        )

    def forward(self, X: Float[Tensor, "B C rows columns"]) -> Float[Tensor, "B C rows columns"]:
        X = self.there(X)
        for layer in self.layers:
            X = X + layer(X)
        return self.back(X)


def with_answer(middle: nn.Module, C: int = 64) -> nn.Sequential:
    """A middle part and what reads each of its cells by itself: logits of the colours [B, 5, 12, 12]."""
    return nn.Sequential(middle, nn.Conv2d(C, C, 1), nn.ReLU(), nn.Conv2d(C, len(COLOURS), 1))


# Points --------------------------------------------------------------------------------------------------------------


class PointNetwork(nn.Module):
    """Sets of points [B, N, 3] to logits [B, classes].

    Args:
        kind: "attention" (two pre-norm blocks), "balls" (the same among points closer than `radius`), "each alone" (an MLP
            for each point instead, as in PointNet).
        pool: "max", "mean" or "attention", by one learned query with four heads.
    """

    def __init__(self, kind: str, pool: str = "max", D: int = 48, classes: int = 8, radius: float = 0.7):
        super().__init__()
        self.kind, self.pool, self.radius = kind, pool, radius
        self.embed = nn.Sequential(nn.Linear(3, D), nn.ReLU(), nn.Linear(D, D))
        pre_norm = {"activation": "gelu", "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(D), nn.Linear(D, 6 * D), nn.GELU(), nn.Linear(6 * D, D))
            if kind == "each alone"
            else nn.TransformerEncoderLayer(D, 4, 4 * D, 0.0, **pre_norm)
            for _ in range(2)
        )
        self.last_norm = nn.LayerNorm(D)
        if pool == "attention":
            self.query, self.reader = nn.Parameter(torch.randn(1, D)), nn.MultiheadAttention(D, 4, batch_first=True)
        self.head = nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, classes))

    def forward(self, points: Float[Tensor, "B N 3"]) -> Float[Tensor, "B classes"]:
        X, hidden = self.embed(points), None
        if self.kind == "balls":  # torch's layer wants to know what is hidden, for each head
            hidden = (torch.cdist(points, points) > self.radius).repeat_interleave(4, dim=0)
        for block in self.blocks:
            X = X + block(X) if self.kind == "each alone" else block(X, src_mask=hidden)
        X = self.last_norm(X)
        if self.pool == "attention":
            return self.head(self.reader(self.query.expand(len(X), 1, -1), X, X, need_weights=False)[0][:, 0])
        return self.head(X.amax(dim=1) if self.pool == "max" else X.mean(dim=1))


class FlatMLP(nn.Sequential):
    """Sets of points, read as one list of 3N numbers."""

    def __init__(self, N: int, hidden: int = 192, classes: int = 8):
        super().__init__(
            nn.Flatten(),
            nn.Linear(3 * N, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, classes),
        )


# Pixels --------------------------------------------------------------------------------------------------------------


class PixelModel(nn.Module):
    """A decoder over pixels in raster order: the logits at a place are those of the pixel at that place, given the ones before.

    Args:
        V: values of a pixel; a further token stands in front of the first pixel.
        reach: how far away, in pixels and in a straight line, those may lie that are attended to, None for all; the pixel just
            before is fed anyhow.
    """

    def __init__(
        self, V: int = 17, side: int = 8, D: int = 48, H: int = 4, L: int = 2, dropout: float = 0.2, reach=None
    ):
        super().__init__()
        self.V, self.side = V, side
        self.values = nn.Embedding(V + 1, D)
        self.rows, self.columns = (nn.Parameter(0.1 * torch.randn(side, D)) for _ in range(2))
        nn.init.normal_(self.values.weight, std=0.1)
        options = {"activation": "gelu", "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(D, H, 4 * D, dropout, **options) for _ in range(L))
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, V)
        self.register_buffer("hidden", ~_earlier(side, reach), persistent=False)

    def forward(self, pixels: Int[Tensor, "B n"]) -> Float[Tensor, "B n V"]:
        """`pixels` are those before each of the first n places: the token in front, then the first n − 1 pixels."""
        n = pixels.shape[1]
        places = (self.rows[:, None] + self.columns).flatten(0, 1)  # [side * side, D], of the pixel to be predicted
        X = self.values(pixels) + places[:n]
        for block in self.blocks:
            X = block(X, src_mask=self.hidden[:n, :n])
        return self.head(self.norm(X))

    def fed(self, pixels: Int[Tensor, "B n"]) -> Int[Tensor, "B n"]:
        """What is fed where these pixels are to be predicted: all moved by one place."""
        return torch.cat([torch.full_like(pixels[:, :1], self.V), pixels[:, :-1]], dim=1)

    @torch.no_grad()
    def bits(self, pixels: Int[Tensor, "B n"]) -> Float[Tensor, "B n"]:
        """−log₂ P of each pixel given those before it."""
        logits = self(self.fed(pixels))
        return F.cross_entropy(logits.mT, pixels, reduction="none") / math.log(2)

    @torch.no_grad()
    def write(self, begun: Int[Tensor, "B n"], generator: torch.Generator) -> Int[Tensor, "B N"]:
        """Draws the pixels that are missing, one after the other."""
        while begun.shape[1] < self.side**2:
            longer = F.pad(begun, (0, 1))
            p = self(self.fed(longer))[:, -1].softmax(dim=-1)
            begun = torch.cat([begun, torch.multinomial(p.cpu(), 1, generator=generator).to(begun.device)], dim=1)
        return begun


def _earlier(side: int, reach: float | None) -> Bool[Tensor, "N N"]:
    """True where place n may attend to what is fed at m ≤ n, the pixel before m; with a reach, only if that is near n."""
    causal = torch.ones(side**2, side**2, dtype=torch.bool).tril()
    if reach is None:
        return causal
    places = torch.cartesian_prod(torch.arange(side), torch.arange(side)).float()  # row and column in raster order
    near = torch.cdist(places, places.roll(1, dims=0)) <= reach
    near[:, 0] = True  # the token in front is always in sight
    return causal & near


# What counting alone can do ------------------------------------------------------------------------------------------


def counted(
    learned: Int[Tensor, "B rows columns"], new: Int[Tensor, "B rows columns"], V: int = 17
) -> dict[str, float]:
    """Bits a pixel of simple models that count values in `learned`, on `new` pictures; one is added to each count, shared out.

    "one value in V", "how frequent a value is", "the same at each place", "given the pixels to the left and above".
    """
    whole = (torch.bincount(learned.flatten(), minlength=V) + 1.0) / (learned.numel() + V)  # [V]
    by_place = F.one_hot(learned, V).sum(dim=0) + 4 * whole  # [rows, columns, V]
    by_place = by_place / by_place.sum(dim=-1, keepdim=True)
    left, above = (_neighbour(learned, dim, V) for dim in (2, 1))
    pair = torch.zeros(V + 1, V + 1, V)
    pair.index_put_((left.flatten(), above.flatten(), learned.flatten()), torch.tensor(1.0), accumulate=True)
    one = pair.sum(dim=1) + 4 * whole  # given the pixel to the left
    one = one / one.sum(dim=-1, keepdim=True)
    pair = pair + 4 * one[:, None]
    pair = pair / pair.sum(dim=-1, keepdim=True)
    tables = {
        "one value in 17": torch.full_like(new, 1, dtype=torch.float) / V,
        "how frequent a value is": whole[new],
        "the same at each place": by_place.expand(len(new), -1, -1, -1).gather(-1, new[..., None])[..., 0],
        "given left and above": pair[_neighbour(new, 2, V), _neighbour(new, 1, V), new],
    }
    return {name: -p.log2().mean().item() for name, p in tables.items()}


def _neighbour(pictures: Tensor, dim: int, outside: int) -> Tensor:
    """The pixel before each along an axis; `outside` where there is none."""
    moved = pictures.roll(1, dims=dim)
    moved.select(dim, 0).fill_(outside)
    return moved
