"""Answers to QueryDecoder (assignment 14)."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong
from torch import nn


class Plain(nn.Module):
    """A decoder in steps, of which answers change one."""

    activation = nn.ReLU

    def __init__(self, D: int, H: int, N_Q: int, C: int, num_layers: int):
        super().__init__()
        self.L = num_layers
        self.queries = nn.Parameter(torch.randn(N_Q, D))

        def many(make):
            return nn.ModuleList([make() for _ in range(num_layers)])

        self.norm_own = many(lambda: nn.LayerNorm(D))
        self.norm_cross = many(lambda: nn.LayerNorm(D))
        self.norm_mlp = many(lambda: nn.LayerNorm(D))
        self.own = many(lambda: nn.MultiheadAttention(D, H, batch_first=True))
        self.cross = many(lambda: nn.MultiheadAttention(D, H, batch_first=True))
        self.mlp = many(lambda: nn.Sequential(nn.Linear(D, 4 * D), self.activation(), nn.Linear(4 * D, D)))
        self.norm = nn.LayerNorm(D)
        self.to_classes = nn.Linear(D, C + 1)
        self.to_boxes = nn.Linear(D, 4)

    def begin(self, memory):
        return torch.zeros(len(memory), *self.queries.shape, dtype=memory.dtype, device=memory.device)

    def look_around(self, i, x):
        z = self.norm_own[i](x)
        q = z + self.queries
        return x + self.own[i](q, q, z)[0]

    def look_at_picture(self, i, x, memory, position):
        q = self.norm_cross[i](x) + self.queries
        return x + self.cross[i](q, memory + position, memory)[0]

    def think(self, i, x):
        return x + self.mlp[i](self.norm_mlp[i](x))

    def layer(self, i, x, memory, position):
        x = self.look_around(i, x)
        x = self.look_at_picture(i, x, memory, position)
        return self.think(i, x)

    def heads(self, x):
        x = self.norm(x)
        return self.to_classes(x), self.to_boxes(x).sigmoid()

    def forward(self, memory, position):
        x, all_logits, all_boxes = self.begin(memory), [], []
        for i in range(self.L):
            x = self.layer(i, x, memory, position)
            logits, boxes = self.heads(x)
            all_logits.append(logits)
            all_boxes.append(boxes)
        return torch.stack(all_logits), torch.stack(all_boxes)


# ---------------------------------------------------------------- right


@right("Steps as methods")
class InSteps(Plain):
    pass


@right("Results written into tables that are made before")
class IntoTables(Plain):
    def forward(self, memory, position):
        B, N_Q = len(memory), len(self.queries)
        logits = memory.new_empty(self.L, B, N_Q, self.to_classes.out_features)
        boxes = memory.new_empty(self.L, B, N_Q, 4)
        x = self.begin(memory)
        for i in range(self.L):
            x = self.layer(i, x, memory, position)
            logits[i], boxes[i] = self.heads(x)
        return logits, boxes


@right("All states first, then the heads once")
class HeadsAtTheEnd(Plain):
    def forward(self, memory, position):
        x, states = self.begin(memory), []
        for i in range(self.L):
            x = self.layer(i, x, memory, position)
            states += [x]
        return self.heads(torch.stack(states))


@right("Recursion over the layers")
class Recursive(Plain):
    def forward(self, memory, position, i=0, x=None):
        x = self.layer(i, self.begin(memory) if x is None else x, memory, position)
        logits, boxes = (one.unsqueeze(0) for one in self.heads(x))
        if i + 1 == self.L:
            return logits, boxes
        rest = self.forward(memory, position, i + 1, x)
        return torch.cat([logits, rest[0]]), torch.cat([boxes, rest[1]])


@right("Sigmoid by tanh, ReLU by clamp, LayerNorm by F.layer_norm")
class ByHand(Plain):
    def think(self, i, x):
        norm, (up, _, down) = self.norm_mlp[i], self.mlp[i]
        z = F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)
        return down(up(z).clamp(min=0)) + x

    def heads(self, x):
        x = self.norm(x)
        return self.to_classes(x), (torch.tanh(self.to_boxes(x) / 2) + 1) / 2


@right("Each picture by itself")
class PictureByPicture(Plain):
    def forward(self, memory, position):
        found = [super(PictureByPicture, self).forward(one[None], position) for one in memory]
        return tuple(torch.cat(parts, dim=1) for parts in zip(*found))


@right("Attention by its functional form")
class Functional(Plain):
    def attend(self, layer, q, k, v):
        found, _ = F.multi_head_attention_forward(
            q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), layer.embed_dim, layer.num_heads,
            layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0, layer.out_proj.weight,
            layer.out_proj.bias, training=False, need_weights=False,
        )  # fmt: skip
        return found.transpose(0, 1)

    def look_around(self, i, x):
        z = self.norm_own[i](x)
        return x + self.attend(self.own[i], z + self.queries, z + self.queries, z)

    def look_at_picture(self, i, x, memory, position):
        return x + self.attend(self.cross[i], self.norm_cross[i](x) + self.queries, memory + position, memory)


@right("A mask of nothing, queries repeated for each picture")
class WithAMask(Plain):
    def look_around(self, i, x):
        queries = self.queries.repeat(len(x), 1, 1)
        nothing = torch.zeros(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
        z = self.norm_own[i](x)
        return x + self.own[i](z + queries, z + queries, z, attn_mask=nothing)[0]


# ---------------------------------------------------------------- wrong


@wrong("the stream starts at the queries", "concept")
class StartsAtQueries(Plain):
    def begin(self, memory):
        return self.queries.expand(len(memory), -1, -1)


@wrong("the stream starts at the queries, and nothing adds them later", "concept")
class QueriesOnce(Plain):
    def begin(self, memory):
        return self.queries.expand(len(memory), -1, -1)

    def look_around(self, i, x):
        z = self.norm_own[i](x)
        return x + self.own[i](z, z, z)[0]

    def look_at_picture(self, i, x, memory, position):
        return x + self.cross[i](self.norm_cross[i](x), memory + position, memory)[0]


change(Plain.begin, "StartsAtRandom", "the stream starts at random numbers", "concept",
       (".zeros", ".randn"))


@wrong("the stream starts at the mean of the memory", "concept")
class StartsAtTheMean(Plain):
    def begin(self, memory):
        return memory.mean(dim=1, keepdim=True).expand(-1, len(self.queries), -1)


# Right, and not registered: answers below are changes of it.
class _PlainLayer(Plain):
    def layer(self, i, x, memory, position):
        return super().layer(i, x, memory, position)


change(_PlainLayer, "IntoTheStream", "queries are added to the stream in every layer", "concept",
       (".layer(i, x, memory, position)", ".layer(i, x + self.queries, memory, position)"))
change(Plain.look_around, "QueriesInValues", "queries in the values of the self-attention", "concept",
       ("z = self.norm_own[i](x)", "q = self.norm_own[i](x) + self.queries"), ("q = z + self.queries", ""),
       ("q, q, z", "q, q, q"))
change(Plain.look_around, "OwnWithoutQueries", "no queries in the self-attention", "concept",
       ("q = z + self.queries", ""), ("q, q, z", "z, z, z"))
change(Plain.look_around, "OwnKeysBare", "queries only on the asking side of the self-attention", "concept",
       ("q = z + self.queries", ""), ("q, q, z", "z + self.queries, z, z"))
change(Plain.look_around, "OwnAskingBare", "queries only on the keys of the self-attention", "concept",
       ("q = z + self.queries", ""), ("q, q, z", "z, z + self.queries, z"))


# Right, and not registered: answers below are changes of it.
class _PlainLookAtPicture(Plain):
    def look_at_picture(self, i, x, memory, position):
        return x + self.cross[i](self.norm_cross[i](x) + self.queries, memory + position, memory)[0]


change(_PlainLookAtPicture, "CrossWithoutQueries", "no queries in the cross-attention", "concept",
       (".norm_cross[i](x) + self.queries", ".norm_cross[i](x)"))
change(Plain.look_around, "AddedBeforeTheNorm", "queries are added before the norm of the self-attention", "concept",
       ("z = self.norm_own[i](x)", "q = self.norm_own[i](x + self.queries)"), ("q = z + self.queries", ""),
       ("q, q, z", "q, q, self.norm_own[i](x)"))
change(Plain.look_at_picture, "CrossAddedBeforeTheNorm",
       "queries are added before the norm of the cross-attention", "concept",
       (".norm_cross[i](x) + self.queries", ".norm_cross[i](x + self.queries)"))
change(_PlainLookAtPicture, "PositionInValues", "position in the values too", "concept",
       before("return", "seen = memory + position"), ("memory + position, memory", "seen, seen"))
change(_PlainLookAtPicture, "PositionInValuesOnly", "position in the values and not in the keys", "concept",
       ("memory + position, memory", "memory, memory + position"))
change(_PlainLookAtPicture, "NoPosition", "position left out", "concept",
       ("memory + position", "memory"))
change(_PlainLookAtPicture, "PositionsAsKeys", "the keys are the positions alone", "concept",
       before("return", "keys = position.expand_as(memory)"), ("memory + position", "keys"))
change(_PlainLookAtPicture, "PositionOnce", "position in the first layer alone", "concept",
       before("return", "keys = memory + position if i == 0 else memory"), ("memory + position", "keys"))


@wrong("queries in the first layer alone", "concept")
class QueriesInTheFirst(Plain):
    def layer(self, i, x, memory, position):
        if i == 0:
            return super().layer(i, x, memory, position)
        z = self.norm_own[i](x)
        x = x + self.own[i](z, z, z)[0]
        x = x + self.cross[i](self.norm_cross[i](x), memory + position, memory)[0]
        return self.think(i, x)


change(_PlainLookAtPicture, "MemoryNormed", "the memory is normed as well", "concept",
       before("return", "memory = self.norm_cross[i](memory)"))
change(Plain.look_around, "Causal", "a causal mask among the queries", "concept",
       before("return",
              "mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device).to(x.dtype)"),
       ("q, q, z", "q, q, z, attn_mask=mask"))
change(Plain.look_around, "NotItself", "queries do not see themselves", "concept",
       before("z =", """
        if x.shape[1] == 1:
            return super().look_around(i, x)"""),
       ("q, q, z", "q, q, z, attn_mask=torch.eye(x.shape[1], device=x.device) > 0"))


@wrong("no self-attention", "concept")
class NoOwn(Plain):
    def look_around(self, i, x):
        return x


@wrong("no cross-attention", "concept")
class NoCross(Plain):
    def look_at_picture(self, i, x, memory, position):
        return x


change(Plain.think, "NoMLP", "no MLP", "concept",
       ("x + self.mlp[i](self.norm_mlp[i](x))", "x"))
change(Plain.layer, "CrossFirst", "cross-attention before self-attention", "concept",
       before("x = self.look_around(i, x)", "x = self.look_at_picture(i, x, memory, position)"),
       ("x = self.look_at_picture(i, x, memory, position)", ""))


@wrong("post-norm", "concept")
class PostNorm(Plain):
    def layer(self, i, x, memory, position):
        q = x + self.queries
        x = self.norm_own[i](x + self.own[i](q, q, x)[0])
        x = self.norm_cross[i](x + self.cross[i](x + self.queries, memory + position, memory)[0])
        return self.norm_mlp[i](x + self.mlp[i](x))


@wrong("the normed stream is what sums run on", "concept")
class SumsOfNormed(Plain):
    def look_around(self, i, x):
        z = self.norm_own[i](x)
        q = z + self.queries
        return z + self.own[i](q, q, z)[0]

    def look_at_picture(self, i, x, memory, position):
        z = self.norm_cross[i](x)
        return z + self.cross[i](z + self.queries, memory + position, memory)[0]

    def think(self, i, x):
        z = self.norm_mlp[i](x)
        return z + self.mlp[i](z)


change(NoCross, "CrossReplaces", "no residual around the cross-attention", "concept",
       ("return x", "return super().look_at_picture(i, x, memory, position) - x"))


@wrong("no residuals", "concept")
class NoResiduals(Plain):
    def look_around(self, i, x):
        return super().look_around(i, x) - x

    def look_at_picture(self, i, x, memory, position):
        return super().look_at_picture(i, x, memory, position) - x

    def think(self, i, x):
        return self.mlp[i](self.norm_mlp[i](x))


change(Plain.think, "MLPWithoutNorm", "the MLP without its norm", "concept",
       ("self.norm_mlp[i](x)", "x"))
change(InSteps, "WithGELU", "GELU", "concept",
       ("pass", "activation = nn.GELU"))


@wrong("heads of the last layer alone, without the axis of layers", "shape")
class LastOnly(Plain):
    def forward(self, memory, position):
        return tuple(one[-1] for one in super().forward(memory, position))


change(LastOnly, "LastRepeated", "heads of the last layer repeated", "concept",
       ("one[-1]", "one[-1:].repeat(self.L, 1, 1, 1)"))
change(LastOnly, "LayersSecond", "layers along the second axis", "shape",
       ("one[-1]", "one.transpose(0, 1)"))
change(LastOnly, "Lists", "lists instead of tensors", "interface",
       ("one[-1]", "list(one)"))


@wrong("boxes first", "interface")
class BoxesFirst(Plain):
    def forward(self, memory, position):
        return super().forward(memory, position)[::-1]


@wrong("heads before each layer instead of behind", "concept")
class HeadsBefore(Plain):
    def forward(self, memory, position):
        x, found = self.begin(memory), []
        for i in range(self.L):
            found.append(self.heads(x))
            x = self.layer(i, x, memory, position)
        return tuple(map(torch.stack, zip(*found)))


change(Plain.heads, "HeadsWithoutNorm", "heads without norm", "concept",
       ("x = self.norm(x)", ""))
change(Plain.heads, "BoxesWithoutNorm", "the norm for the classes only", "concept",
       ("x = self.norm(x)", ""), (".to_classes(x)", ".to_classes(self.norm(x))"))
change(Plain.heads, "NoSigmoid", "no sigmoid", "concept",
       (".to_boxes(x).sigmoid()", ".to_boxes(x)"))
change(Plain.heads, "SoftmaxBoxes", "softmax for the boxes", "concept",
       (".sigmoid()", ".softmax(-1)"))
change(Plain.heads, "ReluBoxes", "ReLU for the boxes", "concept",
       (".sigmoid()", ".relu()"))


@wrong("probabilities for the logits", "concept")
class Probabilities(Plain):
    def heads(self, x):
        logits, boxes = super().heads(x)
        return logits.softmax(-1), boxes


change(Probabilities, "SigmoidOnBoth", "sigmoid on both", "concept",
       (".softmax(-1)", ".sigmoid()"))


@wrong("boxes as corners", "concept")
class Corners(Plain):
    def heads(self, x):
        logits, boxes = super().heads(x)
        centre, size = boxes[..., :2], boxes[..., 2:]
        return logits, torch.cat([centre - size / 2, centre + size / 2], dim=-1)


change(_PlainLayer, "NormedStream", "the normed stream goes on to the next layer", "concept",
       (".layer(i, x, memory, position)", ".layer(i, self.norm(x) if i else x, memory, position)"))
change(_PlainLayer, "OneLayer", "the first layer is used in all", "concept",
       (".layer(i, x, memory, position)", ".layer(0, x, memory, position)"))
change(_PlainLayer, "LayersApart", "each layer starts from zeros again", "concept",
       (".layer(i, x, memory, position)", ".layer(i, torch.zeros_like(x), memory, position)"))
change(_PlainLayer, "Reversed", "layers in reverse order", "concept",
       (".layer(i, x, memory, position)", ".layer(self.L - 1 - i, x, memory, position)"))


@wrong("norm_own and norm_cross exchanged", "concept")
class NormsExchanged(Plain):
    def layer(self, i, x, memory, position):
        self.__dict__["swapped"] = True
        z = self.norm_cross[i](x)
        q = z + self.queries
        x = x + self.own[i](q, q, z)[0]
        x = x + self.cross[i](self.norm_own[i](x) + self.queries, memory + position, memory)[0]
        return self.think(i, x)


@wrong("batch_first forgotten", "module")
class BatchSecond(Plain):
    def __init__(self, D: int, H: int, N_Q: int, C: int, num_layers: int):
        super().__init__(D, H, N_Q, C, num_layers)
        for layer in (*self.own, *self.cross):
            layer.batch_first = False


@wrong("one layer shared by all: [layer] * L", "module")
class Shared(Plain):
    def __init__(self, D: int, H: int, N_Q: int, C: int, num_layers: int):
        super().__init__(D, H, N_Q, C, num_layers)
        for name in ("own", "cross", "mlp", "norm_own", "norm_cross", "norm_mlp"):
            setattr(self, name, nn.ModuleList([getattr(self, name)[0]] * num_layers))


@wrong("lists instead of ModuleLists", "module")
class PlainLists(Plain):
    def __init__(self, D: int, H: int, N_Q: int, C: int, num_layers: int):
        super().__init__(D, H, N_Q, C, num_layers)
        for name in ("own", "cross", "mlp", "norm_own", "norm_cross", "norm_mlp"):
            kept = list(getattr(self, name))
            delattr(self, name)
            setattr(self, name, kept)


@wrong("C classes without no-object", "module")
class WithoutNoObject(Plain):
    def __init__(self, D: int, H: int, N_Q: int, C: int, num_layers: int):
        super().__init__(D, H, N_Q, C, num_layers)
        self.to_classes = nn.Linear(D, C)


@wrong("queries as a tensor that does not learn", "module")
class FixedQueries(Plain):
    def __init__(self, D: int, H: int, N_Q: int, C: int, num_layers: int):
        super().__init__(D, H, N_Q, C, num_layers)
        queries = self.queries.data
        del self.queries
        self.register_buffer("queries", queries)


change(BatchSecond, "WithDropout", "dropout is left at 0.1", "module",
       (".batch_first = False", ".dropout = 0.1"))
