"""Exercise 6 again: mistakes in how sublayers, norms and layers are put together."""

import torch
import torch.nn.functional as F

from autograder.exercises.unit_14_set_prediction.QueryDecoder.declaration import (
    QueryDecoder,
    _attend,
    _cross,
    _decode,
    _own,
)


def _wired(self, memory, position, layer):
    """The decoder whose layer n makes `layer(n, X)` of the stream."""
    X, found = torch.zeros_like(self.queries).expand(len(memory), -1, -1), []
    for n in range(len(self.own)):
        X = layer(n, X)
        found.append(self.norm(X))
    found = torch.stack(found)
    return self.to_classes(found), self.to_boxes(found).sigmoid()


def _steps(self, memory, position):
    """What the three sublayers of layer n make of what they read."""
    return (
        lambda n, Z: _own(self.own[n], Z, self.queries),
        lambda n, Z: _cross(self.cross[n], Z, self.queries, memory, position),
        lambda n, Z: self.mlp[n](Z),
    )


def _right(self, memory, position, n, X):
    for norm, step in zip((self.norm_own, self.norm_cross, self.norm_mlp), _steps(self, memory, position)):
        X = X + step(n, norm[n](X))
    return X


@QueryDecoder.misconception
def queries_into_the_stream(self, memory, position):
    """Each layer adds the queries to the stream itself, which keeps them. They are added to what is made of it, where an
    attention asks or is asked, and the stream holds only what was found."""
    return _wired(self, memory, position, lambda n, X: _right(self, memory, position, n, X + self.queries))


@QueryDecoder.misconception
def queries_not_again(self, memory, position):
    """The queries are added in the first layer alone. Every layer adds them anew, since the stream does not keep them."""

    def own(attention, Z, queries):
        return _attend(attention, Z, Z, Z) if attention is not self.own[0] else _own(attention, Z, queries)

    def cross(attention, Z, queries, memory, position):
        return _cross(attention, Z, queries if attention is self.cross[0] else 0, memory, position)

    return _decode(self, memory, position, own=own, cross=cross)


@QueryDecoder.misconception
def own_without_queries(self, memory, position):
    """The self-attention does without the queries. They are added to what asks and to the keys: by them the queries know each
    other from the first layer on, where all streams are alike."""
    return _decode(self, memory, position, own=lambda attention, Z, queries: _own(attention, Z, 0))


@QueryDecoder.misconception
def picture_before_the_others(self, memory, position):
    """The two attentions have changed places. First the queries look at each other (own), then at the picture (cross)."""

    def layer(n, X):
        own, cross, mlp = _steps(self, memory, position)
        X = X + cross(n, self.norm_cross[n](X))
        X = X + own(n, self.norm_own[n](X))
        return X + mlp(n, self.norm_mlp[n](X))

    return _wired(self, memory, position, layer)


@QueryDecoder.misconception
def post_norm(self, memory, position):
    """The layers are post-norm: each norm comes after a sum. Here they are pre-norm, each norm stands in front of its sublayer,
    inside the sum, and the stream itself runs on without any."""

    def layer(n, X):
        for norm, step in zip((self.norm_own, self.norm_cross, self.norm_mlp), _steps(self, memory, position)):
            X = norm[n](X + step(n, X))
        return X

    return _wired(self, memory, position, layer)


@QueryDecoder.misconception
def sum_with_the_normed(self, memory, position):
    """Each sublayer's result is added to the normed stream. It is added to Y as it was before the norm, so that the stream runs
    through all layers without any."""

    def layer(n, X):
        for norm, step in zip((self.norm_own, self.norm_cross, self.norm_mlp), _steps(self, memory, position)):
            X = norm[n](X)
            X = X + step(n, X)
        return X

    return _wired(self, memory, position, layer)


@QueryDecoder.misconception
def no_residuals(self, memory, position):
    """The residual connections are missing: each sublayer's result takes the place of the stream, and should be added to it."""

    def layer(n, X):
        for norm, step in zip((self.norm_own, self.norm_cross, self.norm_mlp), _steps(self, memory, position)):
            X = step(n, norm[n](X))
        return X

    return _wired(self, memory, position, layer)


@QueryDecoder.misconception
def memory_normed_again(self, memory, position):
    """The memory goes through norm_cross as well. This norm belongs to what asks; the memory is read as it is."""

    def layer(n, X):
        _, cross, mlp = _steps(self, self.norm_cross[n](memory), position)
        X = X + _own(self.own[n], self.norm_own[n](X), self.queries)
        X = X + cross(n, self.norm_cross[n](X))
        return X + mlp(n, self.norm_mlp[n](X))

    return _wired(self, memory, position, layer)


@QueryDecoder.misconception
def gelu(self, memory, position):
    """GELU stands between the two layers of the MLP. Here it is ReLU, as in the paper."""

    def layer(n, X):
        own, cross, _ = _steps(self, memory, position)
        X = X + own(n, self.norm_own[n](X))
        X = X + cross(n, self.norm_cross[n](X))
        return X + self.mlp[n][2](F.gelu(self.mlp[n][0](self.norm_mlp[n](X))))

    return _wired(self, memory, position, layer)


@QueryDecoder.misconception
def first_layer_throughout(self, memory, position):
    """The first layer is applied num_layers times. Each layer has weights of its own: take the n-th of each list."""
    return _wired(self, memory, position, lambda n, X: _right(self, memory, position, 0, X))


@QueryDecoder.misconception
def every_layer_from_the_start(self, memory, position):
    """Each layer begins with zeros again, and knows nothing of what the one before has found. The stream runs from layer to
    layer."""
    return _wired(self, memory, position, lambda n, X: _right(self, memory, position, n, torch.zeros_like(X)))
