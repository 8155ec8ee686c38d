"""count_gpt again: what is miscounted among the operations."""

from autograder.exercises.unit_11_language_models.count_gpt.declaration import _off, _right, count_gpt


@count_gpt.misconception
def one_for_each_pair(*sizes):
    """The operations are half of what is asked for. A multiplication and an addition count as two: a product [n, k] @ [k, m] has
    2·n·k·m operations."""
    parameters, operations = _right(*sizes)
    return parameters, operations // 2


@count_gpt.misconception
def operations_of_one_token(V, N, D, L, D_F, tied):
    """The operations are those of one token. Asked for are those of all N."""
    parameters, operations = _right(V, N, D, L, D_F, tied)
    return parameters, operations // N


@count_gpt.misconception
def two_for_each_parameter(V, N, D, L, D_F, tied):
    """The operations are two for each parameter and token. That rule of thumb leaves out scores and weighted sums, which have no
    parameters, and counts positions, norms and biases, which belong to no matrix product."""
    parameters = _right(V, N, D, L, D_F, tied)[0]
    return parameters, 2 * N * parameters


# the attention's products


@count_gpt.misconception
def attention_products_left_out(*sizes):
    """The products that have no parameters are missing: scores and weighted sums take 2·N·N·D operations each in every block,
    over all heads."""
    return _off(sizes, operations=lambda N, D, L, **_: -L * 4 * N * N * D)


@count_gpt.misconception
def one_attention_product(*sizes):
    """In each block 2·N·N·D operations are missing: one of the two products with N², or the factor 2 in both, or the pairs that
    the causal mask hides. Scores Q Kᵀ and weighted sums A V take 2·N·N·D each, hidden pairs included."""
    return _off(sizes, operations=lambda N, D, L, **_: -L * 2 * N * N * D)


@count_gpt.misconception
def allowed_pairs_alone(*sizes):
    """Of scores and weighted sums only the N·(N + 1)/2 pairs that the causal mask allows are counted. The matrix products are
    computed whole, 2·N·N·D each; the mask hides part of what they give."""
    return _off(sizes, operations=lambda N, D, L, **_: L * (2 * N * (N + 1) * D - 4 * N * N * D))


@count_gpt.misconception
def attention_without_the_square(*sizes):
    """Scores and weighted sums are counted for one query, 2·N·D each. Each of the N tokens is a query: 2·N·N·D each."""
    return _off(sizes, operations=lambda N, D, L, **_: L * (4 * N * D - 4 * N * N * D))


# the layers and the head


@count_gpt.misconception
def one_projection_less(*sizes):
    """In each block 2·N·D·D operations are missing, as many as one projection takes. The attention has four: queries, keys,
    values, and the output, which is easily forgotten."""
    return _off(sizes, operations=lambda N, D, L, **_: -L * 2 * N * D * D)


@count_gpt.misconception
def head_left_out(*sizes):
    """The operations of the head are missing. Each of the N tokens is multiplied by the table of V words: 2·N·D·V."""
    return _off(sizes, operations=lambda V, N, D, **_: -2 * N * D * V)


@count_gpt.misconception
def no_operations_where_tied(*sizes):
    """The operations of the head are missing where it is tied. Sharing the table saves parameters and no work: the product
    [N, D] @ [D, V] is computed all the same, 2·N·D·V."""
    return _off(sizes, operations=lambda V, N, D, tied, **_: -2 * N * D * V if tied else 0 * V)


@count_gpt.misconception
def head_on_one_token(*sizes):
    """The head is counted for one token, 2·D·V. In a forward pass each of the N tokens gets its logits: 2·N·D·V."""
    return _off(sizes, operations=lambda V, N, D, **_: -2 * (N - 1) * D * V)


@count_gpt.misconception
def table_as_a_product(*sizes):
    """There are 2·N·D·V operations too many, as if the table of tokens were a matrix product too. Its rows are looked up, which
    takes no multiplications; only the head is a product."""
    return _off(sizes, operations=lambda V, N, D, **_: 2 * N * D * V)


# what is no matrix product


@count_gpt.misconception
def biases_among_the_operations(*sizes):
    """The additions of biases are counted. Asked for are the operations of the matrix products alone."""
    return _off(sizes, operations=lambda N, D, L, D_F, **_: L * N * (5 * D + D_F))


@count_gpt.misconception
def one_addition_less(*sizes):
    """A sum of k products was taken to need k − 1 additions. That is so, but the convention counts k: 2·n·k·m for a product
    [n, k] @ [k, m], the first one being added to 0."""
    return _off(sizes, operations=lambda V, N, D, L, D_F, **_: -L * N * (6 * D + D_F + N) - N * V)
