"""Exercise 4: the batch of right and wrong pairs on which the matching head learns."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _draws(inputs, sizes, rng):
    """For each pair another picture and another caption, which are not each other's."""
    N = sizes["N"]
    turns = rng.permutation(N - 1)[:2] + 1 if N > 2 else [1, 1]
    places = torch.arange(N).numpy()
    return {
        "texts": rng.integers(2, 3000, size=inputs["texts"].shape),
        "image_negatives": (places + turns[0]) % N,
        "text_negatives": (places + turns[1]) % N,
    }


def _one_for_several(inputs, rng):
    """One caption is the negative of all other pictures, and one picture of all other captions; two captions are the same."""
    inputs["text_negatives"][:], inputs["image_negatives"][:] = 2, 1
    inputs["text_negatives"][2], inputs["image_negatives"][1] = 0, 0
    inputs["texts"][3] = inputs["texts"][2]


@exercise(
    points=2,
    section="Matching, with hard negatives",
    source="Li et al. 2022 (BLIP), section 3.2; salesforce/BLIP, models/blip_pretrain.py",
    outputs="V T labels",
    formula="V = [images; images[image_negatives]; images] of [3N, M, D], T = [texts; texts; texts[text_negatives]] of [3N, L],"
    " labels [3N]: 1 for the pairs as they are, 0 for both kinds of wrong ones",
    cases=[
        Case("a batch of pairs", sizes={"N": 4}),
        Case("a caption that is the negative of several pictures", sizes={"N": 5}, edit=_one_for_several),
        Case("two pairs", edge=True, sizes={"N": 2}),
        Case("one cell and one token", edge=True, sizes={"N": 4, "M": 1, "L": 1}),
        Case("vectors of one number", edge=True, sizes={"N": 5, "D": 1}),
    ],
    draws=_draws,
    gradients="V",
    waived={"ones": "a single pair has no negative"},
)
def matching_batch(
    images: Float[Tensor, "N M D"],
    texts: Int[Tensor, "N L"],
    image_negatives: Int[Tensor, "N"],
    text_negatives: Int[Tensor, "N"],
) -> tuple[Float[Tensor, "3*N M D"], Int[Tensor, "3*N L"], Int[Tensor, "3*N"]]:
    V = torch.cat([images, images.index_select(0, image_negatives), images])
    T = torch.cat([texts, texts, texts.index_select(0, text_negatives)])
    labels = torch.zeros(len(T), dtype=torch.int64, device=images.device)
    labels[: len(images)] = 1
    return V, T, labels


def _made(V, T, right):
    """The three kinds of pairs as one batch, of which one is right."""
    kinds = torch.arange(3, device=T.device)[:, None].expand(3, T.shape[1])
    return V.flatten(0, 1), T.flatten(0, 1), (kinds == right).long().flatten()


@matching_batch.misconception
def negatives_paired_with_each_other(images, texts, image_negatives, text_negatives):
    """A wrong picture meets a wrong caption. Each wrong pair keeps one half of a right one: the picture's negative stands beside
    the pair's own caption, the caption's negative beside its own picture."""
    V = torch.stack([images, images[image_negatives], images[image_negatives]])
    return _made(V, torch.stack([texts, texts[text_negatives], texts[text_negatives]]), 0)


@matching_batch.misconception
def right_pairs_last(images, texts, image_negatives, text_negatives):
    """The right pairs stand last. They come first: [right, wrong picture, wrong caption]."""
    V = torch.stack([images[image_negatives], images, images])
    return _made(V, torch.stack([texts, texts[text_negatives], texts]), 2)


@matching_batch.misconception
def wrong_captions_before_wrong_pictures(images, texts, image_negatives, text_negatives):
    """Pairs with a wrong caption stand before those with a wrong picture. The order is: right, wrong picture, wrong caption."""
    V = torch.stack([images, images, images[image_negatives]])
    return _made(V, torch.stack([texts, texts[text_negatives], texts]), 0)


@matching_batch.misconception
def labels_inverted(images, texts, image_negatives, text_negatives):
    """The labels are exchanged: 1 says that picture and caption belong together, 0 that they do not."""
    V, T, labels = matching_batch.reference(images, texts, image_negatives, text_negatives)
    return V, T, 1 - labels


@matching_batch.misconception
def negatives_exchanged(images, texts, image_negatives, text_negatives):
    """The two lists of negatives have changed places: image_negatives says which picture stands beside a caption, text_negatives
    which caption stands beside a picture."""
    V = torch.stack([images, images[text_negatives], images])
    return _made(V, torch.stack([texts, texts, texts[image_negatives]]), 0)


@matching_batch.misconception
def pairs_moved_together(images, texts, image_negatives, text_negatives):
    """The negatives are right pairs of other places: picture and caption were moved together, and belong together again. Only
    one half of a pair changes."""
    V = torch.stack([images, images[image_negatives], images[text_negatives]])
    return _made(V, torch.stack([texts, texts[image_negatives], texts[text_negatives]]), 0)


@matching_batch.alternative
def by_stack(images, texts, image_negatives, text_negatives):
    V = torch.stack([images, images[image_negatives], images]).flatten(0, 1)
    T = torch.stack([texts, texts, texts[text_negatives]]).flatten(0, 1)
    return V, T, (torch.arange(len(T), device=T.device) < len(texts)).long()


@matching_batch.alternative
def by_index(images, texts, image_negatives, text_negatives):
    own = torch.arange(len(texts), device=texts.device)
    labels = torch.cat([torch.ones_like(own), torch.zeros_like(own), torch.zeros_like(own)])
    return images[torch.cat([own, image_negatives, own])], texts[torch.cat([own, own, text_negatives])], labels


@matching_batch.alternative
def pair_by_pair(images, texts, image_negatives, text_negatives):
    pairs = [(n, n, 1) for n in range(len(images))]
    pairs += [(int(wrong), n, 0) for n, wrong in enumerate(image_negatives)]
    pairs += [(n, int(wrong), 0) for n, wrong in enumerate(text_negatives)]
    V, T = torch.stack([images[i] for i, _, _ in pairs]), torch.stack([texts[t] for _, t, _ in pairs])
    return V, T, torch.tensor([label for _, _, label in pairs], device=texts.device)
