"""Exercise 6: DETR's decoder, whose learned queries look for objects; here its mistakes with queries, positions and heads."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise


def _case(text, edge=False, D=8, H=4, num_layers=2, **sizes):
    return Case(text, sizes={"D": D, "H": H, "num_layers": num_layers, **sizes}, edge=edge)


@exercise(
    points=3,
    section="Queries that look for things",
    source="Carion et al. 2020 (DETR), section 3.2 and appendix A.3; with the norms in front: facebookresearch/detr,"
    " models/transformer.py, forward_pre",
    outputs="logits boxes",
    formula="Y = 0, [B, N_Q, D]; in a layer Y = Y + own(q, q, Z) with Z = norm_own(Y), q = Z + queries; Y = Y + cross(q, memory"
    " + position, memory) with q = norm_cross(Y) + queries; Y = Y + mlp(norm_mlp(Y)); behind each layer logits ="
    " to_classes(norm(Y)), [num_layers, B, N_Q, C+1], boxes = sigmoid(to_boxes(norm(Y))), [num_layers, B, N_Q, 4]",
    cases=[
        _case("two layers"),
        _case("three layers, two heads", D=6, H=2, num_layers=3),
        _case("one layer, one head", D=7, H=1, num_layers=1, edge=True),
    ],
)
class QueryDecoder(nn.Module):
    def __init__(self, D: int, H: int, N_Q: int, C: int, num_layers: int):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(N_Q, D))
        self.norm_own = nn.ModuleList(nn.LayerNorm(D) for _ in range(num_layers))
        self.own = nn.ModuleList(nn.MultiheadAttention(D, H, batch_first=True) for _ in range(num_layers))
        self.norm_cross = nn.ModuleList(nn.LayerNorm(D) for _ in range(num_layers))
        self.cross = nn.ModuleList(nn.MultiheadAttention(D, H, batch_first=True) for _ in range(num_layers))
        self.norm_mlp = nn.ModuleList(nn.LayerNorm(D) for _ in range(num_layers))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D)) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(D)
        self.to_classes, self.to_boxes = nn.Linear(D, C + 1), nn.Linear(D, 4)

    def forward(
        self, memory: Float[Tensor, "B N D"], position: Float[Tensor, "N D"]
    ) -> tuple[Float[Tensor, "num_layers B N_Q C+1"], Float[Tensor, "num_layers B N_Q 4"]]:
        X = self.queries.new_zeros(len(memory), *self.queries.shape)
        keys, states = memory + position, []
        layers = zip(self.norm_own, self.own, self.norm_cross, self.cross, self.norm_mlp, self.mlp)
        for norm_own, own, norm_cross, cross, norm_mlp, mlp in layers:
            Z = norm_own(X)
            X = X + _attend(own, Z + self.queries, Z + self.queries, Z)
            X = X + _attend(cross, norm_cross(X) + self.queries, keys, memory)
            X = X + mlp(norm_mlp(X))
            states.append(self.norm(X))
        states = torch.stack(states)
        return self.to_classes(states), self.to_boxes(states).sigmoid()


def _attend(attention, Q, K, V, mask=None):
    return attention(Q, K, V, need_weights=False, attn_mask=mask)[0]


def _own(attention, Z, queries):
    return _attend(attention, Z + queries, Z + queries, Z)


def _cross(attention, Z, queries, memory, position):
    return _attend(attention, Z + queries, memory + position, memory)


def _sigmoid(boxes):
    return boxes.sigmoid()


def _decode(
    self, memory, position, *, own=_own, cross=_cross, start=0, norm=None, box=_sigmoid, states=None, mlp_first=False
):
    """The decoder; what is wrong may be what an attention reads, where the stream begins, and what the heads read."""
    X = start * self.queries + torch.zeros_like(self.queries).expand(len(memory), -1, -1)
    found = []
    for n in range(len(self.own)):
        X = X + own(self.own[n], self.norm_own[n](X), self.queries) if own else X
        X = X + cross(self.cross[n], self.norm_cross[n](X), self.queries, memory, position)
        X = X + self.mlp[n](self.norm_mlp[n](X))
        found.append((norm or self.norm)(X))
    found = torch.stack(states(found) if states else found)
    return self.to_classes(found), box(self.to_boxes(found))


@QueryDecoder.misconception
def stream_starts_at_the_queries(self, memory, position):
    """The stream starts at the queries. It starts at zeros: the queries are added to what asks and to the keys, in every layer,
    as a position is, and do not enter the stream themselves."""
    return _decode(self, memory, position, start=1)


@QueryDecoder.misconception
def queries_as_the_start_alone(self, memory, position):
    """The queries are where the stream starts, and no layer adds them again. The stream starts at zeros, and in every layer they
    are added to what asks and to the keys of the self-attention."""

    def own(attention, Z, queries):
        return _attend(attention, Z, Z, Z)

    def cross(attention, Z, queries, memory, position):
        return _attend(attention, Z, memory + position, memory)

    return _decode(self, memory, position, start=1, own=own, cross=cross)


@QueryDecoder.misconception
def queries_in_the_values(self, memory, position):
    """In the self-attention the queries are added to the values as well. They say who asks and who is asked; what is handed on is
    the normed stream alone."""

    def own(attention, Z, queries):
        return _attend(attention, Z + queries, Z + queries, Z + queries)

    return _decode(self, memory, position, own=own)


@QueryDecoder.misconception
def own_keys_without_queries(self, memory, position):
    """In the self-attention the queries are added to what asks and not to the keys. Then who is asked can be told by the streams
    alone, which are all alike in the first layer: add them to both."""

    def own(attention, Z, queries):
        return _attend(attention, Z + queries, Z, Z)

    return _decode(self, memory, position, own=own)


@QueryDecoder.misconception
def queries_left_out_of_the_cross_attention(self, memory, position):
    """The cross-attention asks with norm_cross(Y) alone. The queries are added to it in every layer: they say what each of them
    looks for, and where."""

    def cross(attention, Z, queries, memory, position):
        return _attend(attention, Z, memory + position, memory)

    return _decode(self, memory, position, cross=cross)


@QueryDecoder.misconception
def position_in_the_values(self, memory, position):
    """The position is added to the values as well. In the cross-attention it belongs to the keys, by which a query finds a place;
    what it reads there is the memory itself."""

    def cross(attention, Z, queries, memory, position):
        return _attend(attention, Z + queries, memory + position, memory + position)

    return _decode(self, memory, position, cross=cross)


@QueryDecoder.misconception
def causal_queries(self, memory, position):
    """Each query sees the ones before it alone. A set has no order, and nothing is written one after another: all queries see
    each other."""

    def own(attention, Z, queries):
        later = torch.ones(Z.shape[1], Z.shape[1], dtype=torch.bool, device=Z.device).triu(1)
        return _attend(attention, Z + queries, Z + queries, Z, later)

    return _decode(self, memory, position, own=own)


@QueryDecoder.misconception
def no_self_attention(self, memory, position):
    """The queries do not look at each other: the self-attention is missing. Without it two of them that find the same object do
    not know of each other, and both claim it."""
    return _decode(self, memory, position, own=None)


@QueryDecoder.misconception
def heads_of_the_last_layer(self, memory, position):
    """All layers are given what the heads read behind the last one. Each layer's own stream goes through the heads: the losses of
    earlier layers need what these predict."""
    return _decode(self, memory, position, states=lambda states: [states[-1]] * len(states))


@QueryDecoder.misconception
def heads_without_norm(self, memory, position):
    """The heads read the stream as it is. In a pre-norm decoder nothing else norms it at the end: both heads read norm(Y)."""
    return _decode(self, memory, position, norm=lambda X: X)


@QueryDecoder.misconception
def boxes_without_sigmoid(self, memory, position):
    """The boxes are what to_boxes gives, any numbers. They are parts of the picture's sides, between 0 and 1: apply a sigmoid."""
    return _decode(self, memory, position, box=lambda boxes: boxes)


@QueryDecoder.misconception
def stream_normed_behind_each_layer(self, memory, position):
    """The next layer reads norm(Y), which was meant for the heads. The stream runs on as it is; only what the heads read is
    normed."""
    X, found = torch.zeros_like(self.queries).expand(len(memory), -1, -1), []
    for n in range(len(self.own)):
        X = X + _own(self.own[n], self.norm_own[n](X), self.queries)
        X = X + _cross(self.cross[n], self.norm_cross[n](X), self.queries, memory, position)
        X = self.norm(X + self.mlp[n](self.norm_mlp[n](X)))
        found.append(X)
    return self.to_classes(torch.stack(found)), self.to_boxes(torch.stack(found)).sigmoid()


@QueryDecoder.alternative
def from_parts(self, memory, position):
    return _decode(self, memory, position)


@QueryDecoder.alternative
def layer_by_layer(self, memory, position):
    queries = self.queries.unsqueeze(0).repeat(memory.shape[0], 1, 1)
    X, logits, boxes = torch.zeros_like(queries), [], []
    for n in range(len(self.mlp)):
        Z = self.norm_own[n](X)
        X = X + self.own[n](query=Z + queries, key=Z + queries, value=Z)[0]
        Z = self.norm_cross[n](X)
        X = X + self.cross[n](query=Z + queries, key=memory + position.unsqueeze(0), value=memory)[0]
        X = X + self.mlp[n](self.norm_mlp[n](X))
        logits.append(self.to_classes(self.norm(X)))
        boxes.append(torch.sigmoid(self.to_boxes(self.norm(X))))
    return torch.stack(logits, dim=0), torch.stack(boxes, dim=0)


@QueryDecoder.alternative
def with_fused_attention(self, memory, position):
    """The weights are read out of torch's layers; several attentions are one call of a function."""

    def attend(layer, Q, K, V):
        weights, biases = layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
        heads = [
            F.linear(one, weight, bias).unflatten(-1, (layer.num_heads, -1)).transpose(-2, -3)
            for one, weight, bias in zip((Q, K, V), weights, biases)
        ]
        return layer.out_proj(F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2))

    X, found = memory.new_zeros(len(memory), *self.queries.shape), []
    for n, mlp in enumerate(self.mlp):
        Z = self.norm_own[n](X)
        X = attend(self.own[n], Z + self.queries, Z + self.queries, Z) + X
        X = attend(self.cross[n], self.norm_cross[n](X) + self.queries, memory + position, memory) + X
        X = mlp(self.norm_mlp[n](X)) + X
        found.append(X)
    found = self.norm(torch.stack(found))
    return self.to_classes(found), 1 / (1 + torch.exp(-self.to_boxes(found)))
