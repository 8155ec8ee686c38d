"""Answers for mixture_of_experts of assignment 09."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import after, before, change, right, wrong

# ------------------------------------------------------------------------------------------------------------- right


@right("The pseudocode: a loop over the experts, index_add for the rows")
def by_the_hint(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        tokens = gates[:, e].nonzero().squeeze(-1)
        h = F.gelu(X[tokens] @ W_in[e])
        Y = Y.index_add(0, tokens, (h @ W_out[e]) * gates[tokens, e].unsqueeze(-1))
    return Y


@right("A loop over the tokens, and in it over the experts that the token chose; the rows are stacked")
def by_tokens(X, gates, W_in, W_out):
    rows = []
    for x, g in zip(X, gates):
        y = x * 0
        for e in torch.nonzero(g).flatten().tolist():
            y = y + g[e] * (F.gelu(x @ W_in[e]) @ W_out[e])
        rows.append(y)
    return torch.stack(rows)


@right("All pairs of expert and token sorted by expert, split by counts, and added at once by index_add")
def by_sorted_pairs(X, gates, W_in, W_out):
    experts, tokens = gates.t().nonzero(as_tuple=True)
    counts = torch.bincount(experts, minlength=gates.shape[1]).tolist()
    parts = [
        F.gelu(X[mine] @ w_in) @ w_out
        for mine, w_in, w_out in zip(tokens.split(counts), W_in.unbind(), W_out.unbind())
    ]
    return torch.zeros_like(X).index_add(0, tokens, torch.cat(parts) * gates[tokens, experts, None])


@right("Boolean rows: masked positions of a fresh tensor get the sum so far plus the new rows")
def by_boolean_rows(X, gates, W_in, W_out):
    Y = X.new_zeros(X.shape)
    for g, w_in, w_out in zip(gates.unbind(1), W_in, W_out):
        chosen = g > 0
        Y[chosen] += g[chosen][:, None] * torch.mm(F.gelu(torch.mm(X[chosen], w_in)), w_out)
    return Y


@right("The gate multiplies the hidden layer, after GELU and before the second matrix; index_put accumulates")
def by_gated_hidden(X, gates, W_in, W_out):
    Y = torch.zeros_like(X, memory_format=torch.contiguous_format)
    for e in range(W_in.size(0)):
        (rows,) = torch.where(gates[:, e] != 0)
        hidden = nn.GELU()(X[rows].matmul(W_in[e])) * gates[rows, e].reshape(-1, 1)
        Y = Y.index_put((rows,), hidden.matmul(W_out[e]), accumulate=True)
    return Y


@right("F.linear with the turned matrices, and scatter_add with expanded indices")
def by_scatter_add(X, gates, W_in, W_out):
    D = X.shape[1]
    Y = torch.zeros(X.shape, dtype=X.dtype, device=X.device)
    for e in range(len(W_in)):
        tokens = gates.select(1, e).nonzero()[:, 0]
        rows = F.linear(F.gelu(F.linear(X.index_select(0, tokens), W_in[e].T)), W_out[e].T)
        rows = rows * gates.select(1, e).index_select(0, tokens).view(-1, 1)
        Y = Y.scatter_add(0, tokens[:, None].expand(-1, D), rows)
    return Y


@right("Experts are skipped that no token chose; GELU by hand with erf")
def skipping_empty_experts(X, gates, W_in, W_out):
    Y = X - X
    for e in range(gates.shape[-1]):
        tokens = torch.argwhere(gates[:, e])[:, 0]
        if tokens.numel() == 0:
            continue
        a = X[tokens] @ W_in[e]
        h = 0.5 * a * (1 + torch.erf(a / math.sqrt(2)))
        Y = Y.index_add(0, tokens, gates[tokens, e][:, None] * (h @ W_out[e]))
    return Y


@right("Recursion: the experts are halved until one is left")
def by_halves(X, gates, W_in, W_out):
    E = gates.shape[1]
    if E > 1:
        half = E // 2
        first = by_halves(X, gates[:, :half], W_in[:half], W_out[:half])
        return first + by_halves(X, gates[:, half:], W_in[half:], W_out[half:])
    used = gates[:, 0].ne(0)
    rows = torch.mm(F.gelu(X[used] @ W_in[0]), W_out[0]) * gates[used]
    return torch.zeros_like(X).masked_scatter(used[:, None].expand_as(X), rows)


@right("Tokens with the same set of experts are grouped, and each group runs through its experts")
def by_sets_of_experts(X, gates, W_in, W_out):
    sets, member = torch.unique(gates.detach() != 0, dim=0, return_inverse=True)
    Y = torch.zeros_like(X)
    for number, experts in enumerate(sets):
        tokens = (member == number).nonzero().squeeze(1)
        for e in experts.nonzero().squeeze(1).tolist():
            weight = gates[tokens, e : e + 1]
            Y = Y.index_add(0, tokens, weight * (F.gelu(X[tokens] @ W_in[e]) @ W_out[e]))
    return Y


@right("A selection matrix of zeros and ones gathers the rows, the same matrix with the gates puts them back")
def by_selection_matrices(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        tokens = gates[:, e].nonzero().squeeze(1)
        pick = F.one_hot(tokens, X.shape[0]).to(X.dtype)
        h = F.gelu(pick @ X @ W_in[e])
        Y = torch.addmm(Y, (pick * gates[:, e]).T, h @ W_out[e])
    return Y


@right("Rows are collected for each token in Python lists and summed there; the normal distribution for GELU")
def by_lists(X, gates, W_in, W_out):
    work = torch.promote_types(X.dtype, torch.float32)
    found = [[] for _ in range(X.shape[0])]
    for e, column in enumerate(gates.T):
        tokens = column.nonzero().flatten()
        a = torch.einsum("nd,df->nf", X[tokens], W_in[e]).to(work)
        h = (a * torch.special.ndtr(a)).to(X.dtype)
        for t, row in zip(tokens.tolist(), torch.einsum("n,nf,fd->nd", column[tokens], h, W_out[e])):
            found[t].append(row)
    return torch.stack([sum(rows, 0 * x) for x, rows in zip(X, found)])


class _Expert(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.matrices = (first, second)

    def forward(self, x, gate):
        return gate * torch.matmul(F.gelu(torch.matmul(x, self.matrices[0]), approximate="none"), self.matrices[1])


@right("An nn.Module for each expert, that holds views of the matrices; the last expert comes first")
def by_modules(X, gates, W_in, W_out):
    result = torch.zeros_like(X)
    for e in reversed(range(gates.shape[1])):
        tokens = torch.nonzero(gates[:, e], as_tuple=True)[0]
        result = torch.index_add(result, 0, tokens, _Expert(W_in[e], W_out[e])(X[tokens], gates[tokens, e, None]))
    return result


# Right, and not registered: answers below are changes of it.
def _plain(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        tokens = gates[:, e].nonzero().squeeze(-1)
        Y = Y.index_add(0, tokens, F.gelu(X[tokens] @ W_in[e]) @ W_out[e] * gates[tokens, e, None])
    return Y


# --------------------------------------------------------------------------------------------------- wrong, concept


change(_plain, "gate_on_the_input",
       "The gate multiplies the input of the expert, before GELU, in place of its output", "concept",
       ("X[tokens]", "(X[tokens] * gates[tokens, e, None])"), ("W_out[e] * gates[tokens, e, None]", "W_out[e]"))
change(_plain, "gates_renormalised",
       "The gates of each token are divided by their sum first, though they are used as they come", "concept",
       before("for", """
        total = gates.sum(-1, keepdim=True)
        shares = gates / torch.where(total > 0, total, torch.ones_like(total))"""),
       ("gates[tokens, e, None]", "shares[tokens, e, None]"))
change(_plain, "softmax_of_the_gates",
       "The gates go through a softmax over the chosen experts first, though they are used as they come", "concept",
       before("for", "weights = gates.masked_fill(gates == 0, -1e30).softmax(-1)"),
       ("gates[tokens, e, None]", "weights[tokens, e, None]"))
change(_plain, "no_gates",
       "The chosen experts' outputs are summed without their gates, which also get a gradient of 0", "concept",
       ("torch.zeros_like(X)", "torch.zeros_like(X) + 0 * gates.sum()"),
       ("W_out[e] * gates[tokens, e, None]", "W_out[e]"))
change(_plain, "only_the_best_expert",
       "Only the expert with the largest gate of each token is computed; the others it chose are left out", "concept",
       before("for", "best = gates.argmax(-1)"), ("gates[:, e]", "((best == e) & (gates[:, e] != 0))"))
change(_plain, "at_most_two",
       "At most the two largest gates of a token are used, though it may have chosen any number of experts", "concept",
       before("for", "top = gates.topk(min(2, gates.shape[1]), dim=-1).indices"),
       ("gates[:, e]", "((top == e).any(-1) & (gates[:, e] != 0))"))
change(_plain, "mean_over_the_experts", "The sum is divided by the number of experts that the token chose", "concept",
       ("return Y", "return Y / (gates != 0).sum(-1, keepdim=True).clamp(min=1)"))
change(_plain, "relu", "ReLU in place of GELU", "concept",
       ("F.gelu", "F.relu"))
change(_plain, "silu", "SiLU in place of GELU", "concept",
       ("F.gelu", "F.silu"))
change(_plain, "gelu_by_tanh", "GELU with approximate='tanh' in place of torch's default", "concept",
       after("tokens = gates[:, e].nonzero().squeeze(-1)", 'h = F.gelu(X[tokens] @ W_in[e], approximate="tanh")'),
       ("F.gelu(X[tokens] @ W_in[e])", "h"))
change(by_the_hint, "gelu_twice", "GELU acts a second time, on the output of the second matrix", "concept",
       ("h = F.gelu(X[tokens] @ W_in[e])", "rows = F.gelu(F.gelu(X[tokens] @ W_in[e]) @ W_out[e])"),
       ("(h @ W_out[e]) * gates[tokens, e].unsqueeze(-1)", "rows * gates[tokens, e, None]"))
change(_plain, "linear_experts", "GELU is left out: the experts are linear", "concept",
       ("F.gelu(X[tokens] @ W_in[e])", "(X[tokens] @ W_in[e])"))
change(_plain, "matrices_exchanged",
       "The matrices are exchanged: W_out, transposed, comes first, then W_in, transposed", "concept",
       ("F.gelu(X[tokens] @ W_in[e]) @ W_out[e]", "F.gelu(X[tokens] @ W_out[e].T) @ W_in[e].T"))


@wrong("Gate e is used with the matrices of expert e + 1 (the last with those of the first)", kind="concept")
def next_experts_matrices(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    E = gates.shape[1]
    for e in range(E):
        tokens = gates[:, e].nonzero().squeeze(-1)
        rows = F.gelu(X[tokens] @ W_in[(e + 1) % E]) @ W_out[(e + 1) % E]
        Y = Y.index_add(0, tokens, rows * gates[tokens, e, None])
    return Y


change(_plain, "with_a_residual", "X is added to the result, as a residual connection", "concept",
       ("torch.zeros_like(X)", "X"))
change(_plain, "overwritten",
       "The rows of a later expert overwrite those of an earlier one in place of being added to them", "concept",
       ("Y.index_add", "Y.index_copy"))
change(_plain, "first_expert_skipped", "The loop starts at expert 1, so that expert 0 is never computed", "concept",
       ("gates.shape[1]", "1, gates.shape[1]"))
change(_plain, "unrouted_tokens_pass",
       "A token that chose no expert keeps its vector X in place of getting zeros", "edge",
       (".zeros_like(X)", ".where((gates != 0).any(-1, keepdim=True), torch.zeros_like(X), X)"))
change(_plain, "unrouted_tokens_to_expert_0",
       "A token that chose no expert is sent to expert 0 with gate 1 in place of getting zeros", "edge",
       before("Y = torch.zeros_like(X)", """
        lost = (gates == 0).all(-1, keepdim=True)
        gates = torch.cat([gates[:, :1] + lost, gates[:, 1:]], dim=1)"""))
change(_plain, "experts_in_series",
       "The experts work one after another, each on X plus the results so far, in place of on X", "concept",
       after("tokens = gates[:, e].nonzero().squeeze(-1)", "h = F.gelu((X + Y)[tokens] @ W_in[e])"),
       ("F.gelu(X[tokens] @ W_in[e])", "h"))
change(_plain, "only_gates_above_a_half",
       "Only gates above a half count as chosen, so that smaller ones are left out", "concept",
       ("gates[:, e]", "(gates[:, e] > 0.5)"))
change(_plain, "with_a_capacity",
       "Each expert has a capacity of 1.25 times its equal share and drops the tokens beyond it", "concept",
       before("for", "capacity = math.ceil(1.25 * int((gates != 0).sum()) / gates.shape[1])"),
       (".squeeze(-1)", ".squeeze(-1)[:capacity]"))
change(_plain, "gates_of_the_first_tokens",
       "The first n gates of an expert are used for its n tokens in place of the gates at these tokens", "concept",
       ("gates[tokens, e, None]", "gates[: len(tokens), e, None]"))


@wrong("The results of an expert are added to the first n rows in place of the rows of its tokens", kind="concept")
def added_to_the_first_rows(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        tokens = gates[:, e].nonzero().squeeze(-1)
        rows = F.gelu(X[tokens] @ W_in[e]) @ W_out[e] * gates[tokens, e, None]
        Y = Y + F.pad(rows, (0, 0, 0, len(X) - len(rows)))
    return Y


@wrong(
    "One expert made of the gate-weighted sum of the matrices (soft merging) in place of a sum of outputs",
    kind="concept",
)
def merged_matrices(X, gates, W_in, W_out):
    rows = []
    for x, g in zip(X, gates):
        chosen = g.nonzero().squeeze(-1).tolist()
        first = sum((g[e] * W_in[e] for e in chosen), 0 * W_in[0])
        second = sum((g[e] * W_out[e] for e in chosen), 0 * W_out[0])
        rows.append(F.gelu(x @ first) @ second)
    return torch.stack(rows)


change(_plain, "only_favourites",
       "Only experts that are the favourite of at least one token are computed, for whoever chose them", "concept",
       ("range(gates.shape[1])", "gates.argmax(-1).unique().tolist()"))


@wrong("Pairs come token by token but are split by counts of the experts, so rows meet the wrong experts", "concept")
def pairs_in_the_wrong_order(X, gates, W_in, W_out):
    tokens, experts = gates.nonzero(as_tuple=True)
    counts = torch.bincount(experts, minlength=gates.shape[1]).tolist()
    parts = [F.gelu(X[mine] @ W_in[e]) @ W_out[e] for e, mine in enumerate(tokens.split(counts))]
    return torch.zeros_like(X).index_add(0, tokens, torch.cat(parts) * gates[tokens, experts, None])


# ---------------------------------------------------------------------------------------------------- two mistakes


change(_plain, "relu_and_renormalised",
       "ReLU in place of GELU, and the gates of each token are divided by their sum", "concept",
       before("for", "gates = gates / gates.sum(-1, keepdim=True).clamp(min=1e-9)"), ("F.gelu", "torch.relu"))
change(_plain, "gates_squared_and_last_skipped",
       "The gates are squared, and the last expert is never computed", "concept",
       ("gates.shape[1]", "gates.shape[1] - 1"), ("gates[tokens, e, None]", "gates[tokens, e, None] ** 2"))


@wrong("The gates are left out, and rows of a later expert overwrite those of an earlier one", kind="concept")
def no_gates_and_overwritten(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        Y[gates[:, e] != 0] = F.gelu(X[gates[:, e] != 0] @ W_in[e]) @ W_out[e]
    return Y


@wrong("Every expert is computed for all tokens, and a residual X is added", kind="process")
def dense_and_residual(X, gates, W_in, W_out):
    h = F.gelu(torch.einsum("td,edf->tef", X, W_in))
    return X + torch.einsum("te,tef,efd->td", gates, h, W_out)


# -------------------------------------------------------------------------------------------------- wrong, process


@wrong("Every expert is computed for all tokens at once (einsum), gates of 0 included", kind="process")
def dense_by_einsum(X, gates, W_in, W_out):
    h = F.gelu(torch.einsum("td,edf->etf", X, W_in))
    return torch.einsum("te,etd->td", gates, h @ W_out)


@wrong("A loop over the experts computes each for all tokens, and multiplies by its column of gates", kind="process")
def dense_in_a_loop(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        Y = Y + gates[:, e : e + 1] * (F.gelu(X @ W_in[e]) @ W_out[e])
    return Y


@wrong("An expert that any token chose is computed for all tokens, and torch.where then selects", kind="process")
def dense_for_used_experts(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        g = gates[:, e : e + 1]
        if (g != 0).any():
            Y = torch.where(g != 0, Y + g * (F.gelu(X @ W_in[e]) @ W_out[e]), Y)
    return Y


change(_plain, "hidden_for_all",
       "The hidden layers of all experts are computed for all tokens; only the second matrix for the chosen", "process",
       before("Y = torch.zeros_like(X)", "hidden = F.gelu(X @ W_in)"),
       ("F.gelu(X[tokens] @ W_in[e])", "hidden[e, tokens]"))


@wrong("Rows of tokens that did not choose an expert are set to 0, but computed by it all the same", kind="process")
def zeroed_but_computed(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        chosen = (gates[:, e] != 0).unsqueeze(-1)
        h = F.gelu(X.masked_fill(~chosen, 0) @ W_in[e])
        Y = Y + (h @ W_out[e] * gates[:, e, None]).masked_fill(~chosen, 0)
    return Y


@wrong("Each token computes as many experts as the token with most, so those with gate 0 get gradients", "process")
def as_many_as_the_greediest(X, gates, W_in, W_out):
    k = max(1, int((gates != 0).sum(-1).max()))
    values, experts = gates.topk(k, dim=-1)
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        tokens, slot = (experts == e).nonzero(as_tuple=True)
        Y = Y.index_add(0, tokens, F.gelu(X[tokens] @ W_in[e]) @ W_out[e] * values[tokens, slot, None])
    return Y


@wrong("All E matrices are copied for each token, T·E·D·D_F numbers, before the chosen ones are used", "process")
def matrices_copied_for_each_token(X, gates, W_in, W_out):
    T = X.shape[0]
    first = W_in.unsqueeze(0).repeat(T, 1, 1, 1)
    second = W_out.unsqueeze(0).repeat(T, 1, 1, 1)
    tokens, experts = gates.nonzero(as_tuple=True)
    h = F.gelu(torch.einsum("nd,ndf->nf", X[tokens], first[tokens, experts]))
    rows = torch.einsum("nf,nfd->nd", h, second[tokens, experts]) * gates[tokens, experts, None]
    return torch.zeros_like(X).index_add(0, tokens, rows)


# ------------------------------------------------------------------------------------- wrong, layout, shapes, edges


change(by_the_hint, "indices_squeezed",
       "squeeze() without an axis makes a single token's index a number, an error where n = 1 for an expert", "layout",
       (".squeeze(-1)", ".squeeze()"),
       ("(h @ W_out[e]) * gates[tokens, e].unsqueeze(-1)", "h @ W_out[e] * gates[tokens, e][:, None]"))
change(_plain, "ends_at_an_unused_expert",
       "The loop ends at the first expert that no token chose (break), so that later ones are left out", "edge",
       after("tokens = gates[:, e].nonzero().squeeze(-1)", """
        if len(tokens) == 0:
            break"""))
change(_plain, "unused_expert_fails",
       "An expert that no token chose is an error: max over its empty hidden layer has no value", "edge",
       after("tokens = gates[:, e].nonzero().squeeze(-1)", """
        a = X[tokens] @ W_in[e]
        top = a.detach().abs().max()
        h = F.gelu(a / top * top) if top > 0 else F.gelu(a)"""),
       ("F.gelu(X[tokens] @ W_in[e])", "h"))


@wrong("A token that chose no expert is an error: its list of rows is empty and cannot be stacked", kind="edge")
def unrouted_token_fails(X, gates, W_in, W_out):
    rows = []
    for x, g in zip(X, gates):
        experts = g.nonzero().squeeze(-1).tolist()
        rows.append(torch.stack([g[e] * (F.gelu(x @ W_in[e]) @ W_out[e]) for e in experts]).sum(0))
    return torch.stack(rows)


@wrong("All tokens are assumed to choose as many experts as the first one, so that further ones are lost", "shape")
def k_of_the_first_token(X, gates, W_in, W_out):
    k = int((gates[0] != 0).sum())
    values, experts = gates.topk(k, dim=-1)
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        tokens, slot = ((experts == e) & (values != 0)).nonzero(as_tuple=True)
        Y = Y.index_add(0, tokens, F.gelu(X[tokens] @ W_in[e]) @ W_out[e] * values[tokens, slot, None])
    return Y


change(_plain, "gates_turned_where_square",
       "The gates are transposed where there are as many tokens as experts", "shape",
       before("Y = torch.zeros_like(X)", """
        if gates.shape[0] == W_in.shape[0]:
            gates = gates.T"""))
change(_plain, "matrix_turned_where_square",
       "W_in is transposed where its last axis has size D, and so wrongly where D_F = D", "shape",
       before("Y = torch.zeros_like(X)", "first = W_in.mT if W_in.shape[-1] == X.shape[-1] else W_in"),
       ("W_in[e]", "first[e]"))
change(_plain, "single_expert_without_gate",
       "With a single expert (E = 1) its gate is taken for 1, and it is computed for all tokens", "edge",
       before("Y = torch.zeros_like(X)", """
        if W_in.shape[0] == 1:
            return F.gelu(X @ W_in[0]) @ W_out[0] + 0 * gates"""))
change(_plain, "result_squeezed",
       "The result is squeezed without an axis: [D] for a single token, [T] where D = 1", "layout",
       ("return Y", "return Y.squeeze()"))


@wrong("gates.view(-1) for flat indices raises for transposed or strided gates", kind="layout")
def flat_gates_by_view(X, gates, W_in, W_out):
    E = gates.shape[1]
    flat = gates.view(-1)
    Y = torch.zeros_like(X)
    for e in range(E):
        tokens = flat[e::E].nonzero().squeeze(-1)
        weight = flat[tokens * E + e].view(-1, 1)
        Y = Y.index_add(0, tokens, F.gelu(X[tokens] @ W_in[e]) @ W_out[e] * weight)
    return Y


@wrong("W_in is flattened by view(E * D, D_F), which raises for matrices that are stored transposed", "layout")
def matrices_by_view(X, gates, W_in, W_out):
    E, D, D_F = W_in.shape
    table = W_in.view(E * D, D_F)
    Y = torch.zeros_like(X)
    for e in range(E):
        tokens = gates[:, e].nonzero().squeeze(-1)
        h = F.gelu(X[tokens] @ table[e * D : (e + 1) * D])
        Y = Y.index_add(0, tokens, h @ W_out[e] * gates[tokens, e, None])
    return Y


@wrong("All pairs are added by Y[tokens] += rows, where of several rows of one token only one arrives", kind="edge")
def repeated_tokens_lost(X, gates, W_in, W_out):
    experts, tokens = gates.T.nonzero(as_tuple=True)
    counts = torch.bincount(experts, minlength=gates.shape[1]).tolist()
    parts = [F.gelu(X[mine] @ W_in[e]) @ W_out[e] for e, mine in enumerate(tokens.split(counts))]
    Y = torch.zeros_like(X)
    Y[tokens] += torch.cat(parts) * gates[tokens, experts, None]
    return Y


# -------------------------------------------------------------------------------------------------- wrong, numerics


change(_plain, "small_gates_cut", "Gates below 1e-4 count as not chosen: small gates are cut off", "numerics",
       ("gates[:, e]", "(gates[:, e] > 1e-4)"))
change(_plain, "gates_cut_at_1", "The gates are cut at 1, though they may be larger", "numerics",
       after("tokens = gates[:, e].nonzero().squeeze(-1)", "weight = gates[tokens, e, None].clamp(max=1)"),
       ("gates[tokens, e, None]", "weight"))
change(_plain, "gates_as_integers",
       "The gates are converted to integers to find the chosen ones, so that those below 1 count as 0", "numerics",
       (".nonzero().squeeze(-1)", ".long().nonzero().squeeze(-1)"))


@right("The hidden layer is computed in float32 and converted back, so that float64 loses half its digits")
def hidden_in_float32(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        tokens = gates[:, e].nonzero().squeeze(-1)
        h = F.gelu(X[tokens].float() @ W_in[e].float()).to(X.dtype)
        Y = Y.index_add(0, tokens, h @ W_out[e] * gates[tokens, e, None])
    return Y


change(_plain, "gelu_by_sigmoid",
       "The logistic approximation x · sigmoid(1.702 x) in place of torch's default GELU", "numerics",
       after("tokens = gates[:, e].nonzero().squeeze(-1)", "a = X[tokens] @ W_in[e]"),
       ("F.gelu(X[tokens] @ W_in[e])", "(a * torch.sigmoid(1.702 * a))"))
change(hidden_in_float32, "hidden_clamped",
       "The hidden layer before GELU is cut to ±50, so that large numbers come out too small", "numerics",
       ("F.gelu(X[tokens].float() @ W_in[e].float()).to(X.dtype)", "F.gelu((X[tokens] @ W_in[e]).clamp(-50, 50))"))


# ------------------------------------------------------------------------------------------------- wrong, gradients


change(_plain, "gates_detached", "The gates are detached, so that no gradient reaches them", "gradient",
       before("for", "weights = gates.detach()"), ("gates[tokens, e, None]", "weights[tokens, e, None]"))
change(_plain, "tokens_by_data", "The experts' input X is taken by .data, so that no gradient reaches X", "gradient",
       ("X[tokens]", "X.data[tokens]"))
change(hidden_in_float32, "first_layer_under_no_grad",
       "The first layer is under no_grad, so that no gradient reaches X and W_in", "gradient",
       ("h = F.gelu(X[tokens].float() @ W_in[e].float()).to(X.dtype)", """
        with torch.no_grad():
            h = F.gelu(X[tokens] @ W_in[e])"""))
change(_plain, "second_layer_copied",
       "W_out is copied into new parameters, so that the gradient stays there and does not reach W_out", "gradient",
       before("tokens =", "second = nn.Parameter(W_out[e].detach().clone())"), ("W_out[e]", "second"))


@wrong("A straight-through term adds gradients to all gates of a token, also to those that are 0", kind="gradient")
def straight_through(X, gates, W_in, W_out):
    total = gates.sum(-1, keepdim=True)
    Y = torch.zeros_like(X) + (total - total.detach())
    for e in range(gates.shape[1]):
        tokens = gates[:, e].nonzero().squeeze(-1)
        Y = Y.index_add(0, tokens, F.gelu(X[tokens] @ W_in[e]) @ W_out[e] * gates[tokens, e, None])
    return Y


change(_plain, "gate_gradient_rescaled",
       "A gate enters as its detached value plus (gate / detached gate - 1): its gradient is divided by it", "gradient",
       after("tokens = gates[:, e].nonzero().squeeze(-1)", """
        g = gates[tokens, e, None]
        weight = g.detach() + (g / g.detach() - 1)"""),
       ("gates[tokens, e, None]", "weight"))


# ------------------------------------------------------------------------------------------------ wrong, interface


change(_plain, "gates_changed_in_place",
       "The caller's gates are divided by their largest value in place (and the result multiplied by it)", "interface",
       before("return Y", "gates.data.div_(gates.data.max().clamp(min=1e-30))"))


@wrong("The caller's X is set to zeros in place, to serve as the start of the sum", kind="interface")
def X_set_to_zeros(X, gates, W_in, W_out):
    before = X.clone()
    Y = X.data.zero_()
    for e in range(gates.shape[1]):
        tokens = gates[:, e].nonzero().squeeze(-1)
        rows = F.gelu(before[tokens] @ W_in[e]) @ W_out[e] * gates[tokens, e, None]
        Y = Y.index_add(0, tokens, rows)
    return Y


@wrong("The sum is collected in torch.zeros(T, D) without dtype: float32 for every input", kind="interface")
def zeros_without_dtype(X, gates, W_in, W_out):
    Y = torch.zeros(X.shape, device=X.device)
    for e in range(gates.shape[1]):
        tokens = gates[:, e].nonzero().squeeze(-1)
        Y[tokens] += F.gelu(X[tokens] @ W_in[e]) @ W_out[e] * gates[tokens, e, None]
    return Y


change(_plain, "zeros_without_device",
       "The zeros are made without device, an error (or a CPU result) for inputs on a GPU", "interface",
       (".zeros_like(X)", ".zeros(X.shape, dtype=X.dtype)"))
change(_plain, "bfloat16_not_back",
       "bfloat16 is computed in float32 and not converted back, so that the result is float32", "interface",
       before("Y = torch.zeros_like(X)", """
        if X.dtype == torch.bfloat16:
            X, gates, W_in, W_out = X.float(), gates.float(), W_in.float(), W_out.float()"""))


@right("The arguments are named x, g, w1 and w2, so that the names of the signature are an error")
def other_names(x, g, w1, w2):
    Y = torch.zeros_like(x)
    for e in range(g.shape[1]):
        tokens = g[:, e].nonzero().squeeze(-1)
        Y = Y.index_add(0, tokens, F.gelu(x[tokens] @ w1[e]) @ w2[e] * g[tokens, e, None])
    return Y


change(_plain, "matrices_in_the_other_order",
       "W_out stands before W_in in the signature: exchanged when given by position", "interface",
       ("W_in, W_out", "W_out, W_in"))
change(_plain, "load_returned_too",
       "A pair is returned, the result and how many tokens each expert had, in place of the result", "interface",
       ("return Y", "return Y, (gates != 0).sum(0)"))


_routes = {}


@wrong("Which tokens chose an expert is kept from the first call for each shape and used again later", "interface")
def routes_kept(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    if gates.shape not in _routes:
        _routes[gates.shape] = [column.nonzero().squeeze(-1) for column in gates.T]
    for e, tokens in enumerate(_routes[gates.shape]):
        Y = Y.index_add(0, tokens, F.gelu(X[tokens] @ W_in[e]) @ W_out[e] * gates[tokens, e, None])
    return Y


_buffers = {}


change(_plain, "buffer_kept",
       "The result lies in a buffer kept for each shape, so that a later call changes an earlier result", "interface",
       before("return Y", """
        buffer = _buffers.setdefault((X.shape, X.dtype, X.device), torch.empty_like(Y.detach()))
        buffer.copy_(Y.detach())
        Y.data = buffer"""))
