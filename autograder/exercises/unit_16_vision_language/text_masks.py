"""Exercise 5: one text network in three modes, which masks tell apart."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _draws(inputs, sizes, rng):
    """Different lengths in no order, none of them all positions."""
    lengths = rng.permutation(sizes["N"] - 1)[: sizes["B"]] + 1 if sizes["B"] < sizes["N"] else None
    return {"lengths": rng.integers(1, max(sizes["N"], 2), size=sizes["B"]) if lengths is None else lengths}


def _one_full(inputs, rng):
    inputs["lengths"][0] = inputs["N"]


def _case(text, mode, **more):
    return Case(text, values={"mode": mode}, **{"sizes": {"B": 3, "N": 6, "M": 4}, **more})


@exercise(
    points={"without a picture": 1, "with a picture": 1, "writing": 1},
    section="One network, three modes",
    source="Li et al. 2022 (BLIP), section 3.1 and figure 2",
    outputs="own cross",
    formula="own [B, N, N] and cross [B, N, M], True where a text position may attend: to a position of the text that holds a"
    " token, in mode 'write' only up to itself; to every cell of the picture in modes 'match' and 'write', to none in 'contrast'",
    cases=[
        _case("captions alone", "contrast", part="without a picture"),
        _case("a caption that fills all positions", "contrast", part="without a picture", edit=_one_full),
        _case("captions with their pictures", "match", part="with a picture"),
        _case("captions that are written", "write", part="writing"),
        _case("more captions than positions", "write", part="writing", sizes={"B": 7, "N": 5, "M": 3}),
        _case("one caption", "match", part="with a picture", edge=True, sizes={"B": 1, "N": 5, "M": 3}),
    ],
    draws=_draws,
    differentiable=False,
)
def text_masks(
    lengths: Int[Tensor, "B"], N: int, M: int, mode: str
) -> tuple[Bool[Tensor, "B N N"], Bool[Tensor, "B N M"]]:
    rows = [
        [[k < length and (mode != "write" or k <= n) for k in range(N)] for n in range(N)]
        for length in lengths.tolist()
    ]
    own = torch.tensor(rows, device=lengths.device)
    return own, torch.full((len(lengths), N, M), mode != "contrast", device=lengths.device)


def _tokens(lengths, N):
    return torch.arange(N, device=lengths.device) < lengths[:, None]  # [B, N]


def _made(lengths, N, M, causal, picture, tokens=None):
    own = (_tokens(lengths, N) if tokens is None else tokens)[:, None].expand(-1, N, N)
    if causal:
        own = own & torch.ones(N, N, dtype=torch.bool, device=lengths.device).tril()
    return own, torch.full((len(lengths), N, M), picture, device=lengths.device)


@text_masks.misconception
def always_causal(lengths, N, M, mode):
    """The text is masked causally in every mode. Only a decoder, which writes, may not look ahead: as an encoder the network
    reads the whole caption."""
    return _made(lengths, N, M, True, mode != "contrast")


@text_masks.misconception
def never_causal(lengths, N, M, mode):
    """In mode 'write' positions see later tokens. There the network predicts the next token, and would read it off."""
    return _made(lengths, N, M, False, mode != "contrast")


@text_masks.misconception
def picture_always_seen(lengths, N, M, mode):
    """The picture is seen in mode 'contrast' too. There the caption's vector must come from the caption alone: else it could be
    compared with no other picture."""
    return _made(lengths, N, M, mode == "write", True)


@text_masks.misconception
def picture_for_matching_alone(lengths, N, M, mode):
    """In mode 'write' the picture is not seen. A captioner writes about the picture: it attends to it at every position."""
    return _made(lengths, N, M, mode == "write", mode == "match")


@text_masks.misconception
def padding_seen(lengths, N, M, mode):
    """Padding is attended to: lengths is not looked at. Positions from lengths[b] on hold no token, and no position may attend to
    them."""
    return _made(lengths, N, M, mode == "write", mode != "contrast", torch.ones_like(_tokens(lengths, N)))


@text_masks.misconception
def inverted(lengths, N, M, mode):
    """True and False are exchanged. True stands where a position may attend."""
    own, cross = _made(lengths, N, M, mode == "write", mode != "contrast")
    return ~own, ~cross


@text_masks.misconception
def one_token_too_many(lengths, N, M, mode):
    """One position too many is allowed behind each caption: a caption of length L holds the positions 0 to L − 1, n < lengths."""
    return _made(lengths, N, M, mode == "write", mode != "contrast", _tokens(lengths + 1, N))


@text_masks.alternative
def by_outer_products(lengths, N, M, mode):
    token = _tokens(lengths, N).float()
    own = torch.einsum("q,bk->bqk", torch.ones(N, device=lengths.device), token)
    own = own.tril() if mode == "write" else own
    cross = token.new_ones(len(lengths), N, M) if mode in ("match", "write") else token.new_zeros(len(lengths), N, M)
    return own.bool(), cross.bool()


@text_masks.alternative
def by_places(lengths, N, M, mode):
    place = torch.arange(N, device=lengths.device)
    own = place[None, None, :] < lengths[:, None, None]
    own = own & (place[None, :, None] >= place[None, None, :]) if mode == "write" else own.repeat(1, N, 1)
    cross = torch.ones(len(lengths), N, M, device=lengths.device, dtype=torch.bool)
    return own, cross & (mode != "contrast")


@text_masks.alternative
def caption_by_caption(lengths, N, M, mode):
    own, cross = [], []
    for length in lengths:
        one = torch.zeros(N, N, dtype=torch.bool, device=lengths.device)
        one[:, : int(length)] = True
        own.append(one.tril() if mode == "write" else one)
        cross.append(torch.full((N, M), mode in {"match", "write"}, device=lengths.device))
    return torch.stack(own), torch.stack(cross)
