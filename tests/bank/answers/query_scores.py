"""Answers to query_scores (assignment 17)."""

import torch
import torch.nn.functional as F
from answers import change, right, wrong

# ---------------------------------------------------------------- right


@right("cosine_similarity by broadcasting over [B, Q, C, D]")
def by_cosine_similarity(queries, texts, temperature):
    cosines = F.cosine_similarity(queries[:, :, None], texts[None, None], dim=-1)
    return cosines.amax(dim=1) / temperature


@right("Every vector is brought to a largest entry of 1 before its length is taken")
def first_to_a_largest_entry_of_one(queries, texts, temperature):
    def unit(x):
        x = x / x.abs().amax(dim=-1, keepdim=True)
        return x / x.square().sum(dim=-1, keepdim=True).sqrt()

    return (unit(queries) @ unit(texts).mT).max(dim=1).values.div(temperature)


@right("Plain loops over pictures, texts and queries")
def plain_loops(queries, texts, temperature):
    def one(picture, text):
        best = None
        for query in picture:
            cosine = torch.dot(query / torch.linalg.norm(query), text / torch.linalg.norm(text))
            best = cosine if best is None or cosine > best else best
        return best / temperature

    return torch.stack([torch.stack([one(picture, text) for text in texts]) for picture in queries])


@right("All queries as one long matrix, products over lengths, and the maximum of the groups of Q")
def one_long_matrix(queries, texts, temperature):
    B, Q, D = queries.shape
    flat = queries.reshape(B * Q, D)
    cosines = flat.matmul(texts.t()) / flat.norm(dim=1, keepdim=True) / texts.norm(dim=1)
    return cosines.reshape(B, Q, len(texts)).max(1)[0] * (1 / temperature)


@right("einsum in single precision or better, the last of the sorted cosines, back to the inputs' type")
def last_of_the_sorted(queries, texts, temperature):
    kind = torch.promote_types(queries.dtype, torch.float32)
    q, t = F.normalize(queries.to(kind), dim=-1), F.normalize(texts.to(kind), dim=-1)
    cosines = torch.einsum("cd,bqd->bcq", t, q)
    return (cosines.sort(dim=-1)[0][:, :, -1] / temperature).to(queries.dtype)


@right("argmax of the cosines, and a gather of them")
def argmax_and_gather(queries, texts, temperature):
    lengths = torch.linalg.vector_norm(queries, dim=2)[:, None] * torch.linalg.vector_norm(texts, dim=1)[None, :, None]
    cosines = torch.matmul(texts, queries.transpose(1, 2)) / lengths
    where = cosines.argmax(dim=2, keepdim=True)
    return torch.gather(cosines / temperature, 2, where).squeeze(2)


@right("A running maximum over the queries, one query output of all pictures at a time")
def running_maximum(queries, texts, temperature):
    normed = texts / texts.pow(2).sum(1, keepdim=True).sqrt()
    best = None
    for query in queries.unbind(1):
        scores = (query / query.pow(2).sum(1, keepdim=True).sqrt()) @ normed.T / temperature
        best = scores if best is None else torch.maximum(best, scores)
    return best


@right("From the distance of the unit vectors: cosine = 1 - distance squared / 2, smallest distance first")
def from_distances(queries, texts, temperature):
    q, t = F.normalize(queries, dim=-1), F.normalize(texts, dim=-1)
    squares = (q[:, None] - t[None, :, None]).square().sum(-1)
    return (1 - squares.min(dim=-1).values / 2) / temperature


# ---------------------------------------------------------------- wrong


def _cosines(queries, texts):
    """[B, Q, C]"""
    return F.normalize(queries, dim=-1) @ F.normalize(texts, dim=-1).mT


# Right, and not registered: answers below are changes of it.
def _plain(queries, texts, temperature):
    return _cosines(queries, texts).amax(1) / temperature


change(_plain, "mean_of_the_cosines", "the mean over the queries in place of the largest", "concept",
       (".amax(1)", ".mean(1)"))
change(_plain, "smallest_cosine", "the smallest cosine in place of the largest", "concept",
       (".amax(1)", ".amin(1)"))
change(_plain, "sum_of_the_cosines", "the sum over the queries in place of the largest", "concept",
       (".amax(1)", ".sum(1)"))
change(_plain, "first_query_alone", "only the first query output is compared, as if it were [CLS]", "concept",
       ("_cosines(queries, texts).amax(1)", "_cosines(queries[:, :1], texts).amax(1)"))


@wrong("the query outputs are averaged first, and the text is compared with the average", kind="concept")
def cosine_with_the_mean(queries, texts, temperature):
    return _cosines(queries.mean(1, keepdim=True), texts).amax(1) / temperature


@wrong("the maximum is taken over each feature of the queries, before the product", kind="concept")
def maximum_before_the_product(queries, texts, temperature):
    return _cosines(queries.amax(1, keepdim=True), texts).amax(1) / temperature


@wrong("the best query is chosen by the plain product, and only then its cosine is taken", kind="concept")
def chosen_by_the_product(queries, texts, temperature):
    best = (queries @ texts.mT).argmax(1, keepdim=True)
    return _cosines(queries, texts).gather(1, best).squeeze(1) / temperature


change(_plain, "plain_products", "nothing is normalised: plain products in place of cosines", "concept",
       ("_cosines(queries, texts).amax(1)", "(queries @ texts.mT).amax(1)"))
change(_plain, "queries_not_normalised", "only the texts are normalised", "concept",
       ("_cosines(queries, texts).amax(1)", "(queries @ F.normalize(texts, dim=-1).mT).amax(1)"))
change(_plain, "texts_not_normalised", "only the queries are normalised", "concept",
       ("_cosines(queries, texts).amax(1)", "(F.normalize(queries, dim=-1) @ texts.mT).amax(1)"))


@wrong("F.normalize without dim: the queries are normalised along Q, not along D", kind="concept")
def normalised_along_the_queries(queries, texts, temperature):
    return (F.normalize(queries) @ F.normalize(texts).mT).amax(1) / temperature


@wrong("the vectors are divided by the sum of their absolute entries, not by their lengths", kind="concept")
def sum_of_absolute_entries(queries, texts, temperature):
    return (F.normalize(queries, p=1, dim=-1) @ F.normalize(texts, p=1, dim=-1).mT).amax(1) / temperature


@wrong("the vectors are divided by their squared lengths (the root is forgotten)", kind="concept")
def root_forgotten(queries, texts, temperature):
    q, t = queries / queries.square().sum(-1, keepdim=True), texts / texts.square().sum(-1, keepdim=True)
    return (q @ t.mT).amax(1) / temperature


change(_plain, "largest_absolute_cosine", "the cosine of the largest absolute value wins, its sign is lost", "concept",
       (".amax(1)", ".abs().amax(1)"))
change(_plain, "times_temperature", "multiplied by the temperature in place of divided", "concept",
       ("/ temperature", "* temperature"))
change(_plain, "temperature_ignored", "the temperature is ignored", "concept",
       (".amax(1) / temperature", ".amax(1)"))


@wrong("a smooth maximum (logsumexp over the queries) in place of the largest", kind="concept")
def smooth_maximum(queries, texts, temperature):
    return (_cosines(queries, texts) / temperature).logsumexp(1)


@wrong("a softmax over the texts at the end", kind="concept")
def softmax_over_the_texts(queries, texts, temperature):
    return (_cosines(queries, texts).amax(1) / temperature).softmax(-1)


@wrong("the running maximum starts at 0, so that negative results become 0", kind="edge")
def maximum_from_zero(queries, texts, temperature):
    best = queries.new_zeros(len(queries), len(texts))
    for scores in (_cosines(queries, texts) / temperature).unbind(1):
        best = torch.maximum(best, scores)
    return best


@wrong("the result is laid out as [C, B]", kind="shape")
def texts_in_rows(queries, texts, temperature):
    return (_cosines(queries, texts).amax(1) / temperature).T


@wrong("squeezed at the end: with B = 1 or C = 1 an axis is lost", kind="shape")
def squeezed(queries, texts, temperature):
    products = F.normalize(texts, dim=-1)[:, None, None] @ F.normalize(queries, dim=-1).mT
    return products.squeeze().max(-1).values.t() / temperature


@wrong("the given vectors are normalised in place", kind="interface")
def normalised_in_place(queries, texts, temperature):
    with torch.no_grad():
        queries /= queries.norm(dim=-1, keepdim=True)
        texts /= texts.norm(dim=-1, keepdim=True)
    return (queries @ texts.mT).amax(1) / temperature


@wrong("no gradient flows through the lengths (detached)", kind="gradient")
def lengths_detached(queries, texts, temperature):
    q = queries / queries.norm(dim=-1, keepdim=True).detach()
    t = texts / texts.norm(dim=-1, keepdim=True).detach()
    return (q @ t.mT).amax(1) / temperature
