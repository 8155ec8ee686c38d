"""Exercise 3 again: mistakes in what is projected from what, with which third of W_QKV, and with which biases."""

import math

from autograder.exercises.unit_06_multi_head.MultiHeadAttention.declaration import (
    MultiHeadAttention,
    _attend,
    _merge,
    _projected,
    _split,
)


class Plain(MultiHeadAttention.reference):
    """Right, and without torch's own attention: what mistakes of the constructor are made of."""

    def forward(self, X, context=None):
        return _attend(self, *_projected(self, X, context))


@MultiHeadAttention.misconception
def keys_first(self, X, context=None):
    """The thirds of W_QKV were taken in another order, keys first. The name says the order: queries, keys, values."""
    return _attend(self, *_projected(self, X, context, (1, 0, 2)))


@MultiHeadAttention.misconception
def values_second(self, X, context=None):
    """Keys and values have changed places: the second third of W_QKV makes the keys, the last one the values."""
    return _attend(self, *_projected(self, X, context, (0, 2, 1)))


@MultiHeadAttention.misconception
def values_first(self, X, context=None):
    """The thirds of W_QKV were taken backwards: values, keys, queries. The name says the order: queries, keys, values."""
    return _attend(self, *_projected(self, X, context, (2, 1, 0)))


@MultiHeadAttention.misconception
def queries_last(self, X, context=None):
    """The thirds of W_QKV were taken as keys, values, queries. The name says the order: queries, keys, values."""
    return _attend(self, *_projected(self, X, context, (2, 0, 1)))


@MultiHeadAttention.misconception
def first_two_thirds_of_the_context(self, X, context=None):
    """For a context, keys and values were taken from the first two thirds of W_QKV's output. The first third are queries, of
    the context too, and not needed: keys and values are the second and the last."""
    return _attend(self, *_projected(self, X, context, (0, 1, 2) if context is None else (0, 0, 1)))


@MultiHeadAttention.misconception
def thirds_take_turns(self, X, context=None):
    """Every third number of W_QKV's output was taken for a query's: it was cut as [H, D_H, 3]. First come all queries, then all
    keys, then all values: three thirds, then heads."""
    outputs = [self.W_QKV(one).unflatten(-1, (-1, 3)) for one in (X, X if context is None else context)]
    return _attend(self, outputs[0][..., 0], outputs[1][..., 1], outputs[1][..., 2])


@MultiHeadAttention.misconception
def thirds_inside_each_head(self, X, context=None):
    """The output of W_QKV was cut into heads first and each head's part into thirds, [H, 3, D_H]. Some models are laid out so.
    Here all queries come first, then all keys, then all values: three thirds, then heads."""
    source = X if context is None else context
    Q = self.W_QKV(X).unflatten(-1, (self.H, 3, -1)).transpose(1, 2)[:, :, :, 0]
    K, V = self.W_QKV(source).unflatten(-1, (self.H, 3, -1)).transpose(1, 2)[:, :, :, 1:].unbind(dim=3)
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return self.W_O(_merge(A @ V)), A


@MultiHeadAttention.misconception
def data_mixed(self, X, context=None):
    """The weights mix the data vectors themselves. They mix the values, the last third of W_QKV's output: A V."""
    Q, K, _ = _projected(self, X, context)
    return _attend(self, Q, K, X if context is None else context)


@MultiHeadAttention.misconception
def keys_mixed(self, X, context=None):
    """The weights mix the keys. They mix the values, the last third of W_QKV's output: A V."""
    Q, K, _ = _projected(self, X, context)
    return _attend(self, Q, K, K)


@MultiHeadAttention.misconception
def context_for_the_keys_alone(self, X, context=None):
    """The keys come from the context, the values from X. What is found through the keys are the context's values: both are made
    from it."""
    return _attend(self, *_projected(self, X, context)[:2], _projected(self, X, None)[2])


@MultiHeadAttention.misconception
def context_for_the_values_alone(self, X, context=None):
    """The values come from the context, the keys from X. A value is found through its own key: both are made from the context."""
    Q, K, _ = _projected(self, X, None)
    return _attend(self, Q, K, _projected(self, X, context)[2])


@MultiHeadAttention.misconception
def all_biases_ignored(self, X, context=None):
    """No bias is added, neither W_QKV's nor W_O's. Call the layers, or pass the biases to F.linear as well."""
    W, context = self.W_QKV.weight.chunk(3), X if context is None else context
    Q, K, V = (_split(self, one) for one in (X @ W[0].T, context @ W[1].T, context @ W[2].T))
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return _merge(A @ V) @ self.W_O.weight.T, A


@MultiHeadAttention.misconception
def output_weight_not_transposed(self, X, context=None):
    """W_O's weight was multiplied from the right as it is stored. nn.Linear keeps [out, in], the transpose: call the layer, or
    use F.linear."""
    Q, K, V = (_split(self, one) for one in _projected(self, X, context))
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return _merge(A @ V) @ self.W_O.weight + self.W_O.bias, A
