"""Exercise 6 again: mistakes after the blocks, in pooling, last norm and head."""

import torch.nn.functional as F

from autograder.exercises.unit_13_vision_transformer.VisionTransformer.declaration import (
    VisionTransformer,
    _after,
    _encoded,
    _pooled,
)

# pooling


@VisionTransformer.misconception
def class_token_in_the_mean(self, X):
    """With mean pooling, the mean runs over all N + 1 tokens, the class token's among them. It runs over the N patches, which
    begin at position 1."""
    Y = self.norm(_encoded(self, X))
    return self.head(Y.mean(dim=1) if self.mean_pooling else Y[:, 0])


@VisionTransformer.misconception(universal=True)
def always_the_class_token(self, X):
    """The logits come from the class token whatever mean_pooling says. Where it is True, the head reads the mean of the
    patches."""
    return self.head(_pooled(self, self.norm(_encoded(self, X)), mean=False))


@VisionTransformer.misconception(universal=True)
def always_the_mean(self, X):
    """The logits come from the mean of the patches whatever mean_pooling says. Where it is False, the head reads the class
    token, which stands at position 0."""
    return self.head(_pooled(self, self.norm(_encoded(self, X)), mean=True))


@VisionTransformer.misconception(universal=True)
def always_the_mean_of_all_tokens(self, X):
    """The logits come from the mean of all N + 1 tokens whatever mean_pooling says. Where it is False, the head reads the
    class token, at position 0; where it is True, the mean of the patches without it."""
    return self.head(self.norm(_encoded(self, X)).mean(dim=1))


@VisionTransformer.misconception
def poolings_exchanged(self, X):
    """The two poolings have changed places: with mean_pooling True the head should read the mean of the patches, with False
    the class token."""
    return self.head(_pooled(self, self.norm(_encoded(self, X)), mean=not self.mean_pooling))


@VisionTransformer.misconception
def last_token_read(self, X):
    """Without mean pooling, the head reads the last token, as a causal language model does. Here it reads the class token,
    which stands first: position 0."""
    Y = self.norm(_encoded(self, X))
    return self.head(_pooled(self, Y) if self.mean_pooling else Y[:, -1])


@VisionTransformer.misconception
def first_patch_read(self, X):
    """Without mean pooling, the head reads position 1, the first patch. The class token stands at position 0."""
    Y = self.norm(_encoded(self, X))
    return self.head(_pooled(self, Y) if self.mean_pooling else Y[:, 1])


@VisionTransformer.misconception
def last_patch_left_out(self, X):
    """With mean pooling, the mean runs over all tokens but the last: over the class token and N − 1 patches. The class token
    stands first: it is position 0 that is left out."""
    Y = self.norm(_encoded(self, X))
    return self.head(Y[:, :-1].mean(dim=1) if self.mean_pooling else Y[:, 0])


@VisionTransformer.misconception
def largest_for_the_mean(self, X):
    """With mean pooling, the largest number of each feature over the patches was taken. Asked for is their mean."""
    Y = self.norm(_encoded(self, X))
    return self.head(Y[:, 1:].amax(dim=1) if self.mean_pooling else Y[:, 0])


@VisionTransformer.misconception
def divided_by_all_tokens(self, X):
    """With mean pooling, the patches are summed and divided by N + 1. The sum has N terms, one for each patch: divide by N."""
    Y = self.norm(_encoded(self, X))
    return self.head(Y[:, 1:].sum(dim=1) / Y.shape[1] if self.mean_pooling else Y[:, 0])


@VisionTransformer.misconception
def logits_of_every_token(self, X):
    """Every token has logits of its own. An image gets one row of logits: pool first, so that one vector [D] of each image is
    left, then apply the head."""
    return self.head(self.norm(_encoded(self, X)))


@VisionTransformer.misconception
def class_token_left_out_of_the_blocks(self, X):
    """With mean pooling, the class token was left out before the blocks. It is left out of the mean alone: in the blocks the
    patches attend to it as they do to each other."""
    if not self.mean_pooling:
        return _after(self, _encoded(self, X))
    return self.head(self.norm(_encoded(self, X[:, 1:])).mean(dim=1))


# the last norm


@VisionTransformer.misconception(universal=True)
def no_last_norm(self, X):
    """The last LayerNorm is missing. The residual stream leaves a pre-norm block as it is, with whatever scale it has grown
    to: norm comes after the last block."""
    return self.head(_pooled(self, _encoded(self, X)))


@VisionTransformer.misconception
def mean_before_the_norm(self, X):
    """With mean pooling, the mean was taken first and normalised then. Here each token is normalised by its own mean and
    variance first: the mean of normalised vectors is not the normalised mean."""
    return self.head(self.norm(_pooled(self, _encoded(self, X))))


@VisionTransformer.misconception
def norm_before_the_blocks(self, X):
    """norm is applied to X, before the first block. Each block normalises what it reads by itself; norm comes after the last
    block."""
    return self.head(_pooled(self, _encoded(self, self.norm(X))))


@VisionTransformer.misconception
def norm_at_both_ends(self, X):
    """norm is applied after the last block, where it belongs, and also to X, before the first block. The first block
    normalises what it reads by itself; X enters the residual stream as it is."""
    return _after(self, _encoded(self, self.norm(X)))


@VisionTransformer.misconception
def norm_after_each_block(self, X):
    """norm is applied after each block, so that the residual stream is normalised on its way. It is applied once, after the
    last block."""
    for block in self.blocks:
        X = self.norm(block(X))
    return self.head(_pooled(self, X))


@VisionTransformer.misconception
def norm_without_weights(self, X):
    """Mean and variance are right, but weight and bias of norm are not used. Call self.norm itself: LayerNorm multiplies by a
    learned weight and adds a learned bias."""
    return self.head(_pooled(self, F.layer_norm(_encoded(self, X), X.shape[-1:])))


# the head


@VisionTransformer.misconception
def softmax_of_the_logits(self, X):
    """The logits went through a softmax. The model returns logits: F.cross_entropy applies the softmax by itself."""
    return _after(self, _encoded(self, X)).softmax(dim=-1)


@VisionTransformer.misconception
def logarithm_of_probabilities(self, X):
    """The logits went through a log_softmax. The model returns logits as the head gives them: F.cross_entropy applies the
    softmax by itself."""
    return _after(self, _encoded(self, X)).log_softmax(dim=-1)


@VisionTransformer.misconception
def tanh_before_the_head(self, X):
    """The pooled vector went through a tanh before the head, as in BERT's pooler. Here the head reads the pooled vector as it
    is."""
    return self.head(_pooled(self, self.norm(_encoded(self, X))).tanh())
