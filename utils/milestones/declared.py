"""Which milestones there are, and of which exercises each of them is made."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Milestone:
    """A model that a student's own functions and classes are together.

    Attributes:
        name: of its notebook; its number is that of the unit behind which it comes.
        title: what the student's code does here.
        parts: the exercises whose solutions it uses; those in one tuple are lent together or not at all.
    """

    name: str
    title: str
    parts: tuple[tuple[str, ...], ...]

    @property
    def exercises(self) -> tuple[str, ...]:
        """The names of all its parts, in order."""
        return tuple(name for together in self.parts for name in together)


def _alone(*names: str) -> tuple[tuple[str, ...], ...]:
    return tuple((name,) for name in names)


MILESTONES = (
    Milestone(
        "03_my_translator",
        "My translator translates, my captioner describes",
        _alone(
            "Encoder",
            "masked_cross_entropy",
            "AttentionStep",
            "decode_with_attention",
            "InitialState",
            "CaptionStep",
        ),
    ),
    Milestone(
        "09_my_block",
        "My Transformer block sorts",
        _alone("LearnedPositions", "MaskedMultiHeadAttention", "rms_norm", "SwiGLU"),
    ),
    Milestone(
        "11_my_gpt",
        "My GPT writes",
        (("byte_pair_merges", "bpe_encode", "bpe_decode"), ("GPT",), ("next_token_distribution",)),
    ),
    Milestone(
        "13_my_vit",
        "My ViT reads digits",
        _alone("PatchEmbedding", "add_class_token_and_positions", "VisionTransformer"),
    ),
    Milestone("15_my_lora", "My LoRA adapts a translator", (("LoRALinear", "add_adapters"),)),
    Milestone(
        "17_my_multimodal_model", "My model answers questions about a picture", _alone("picture_prefix", "Resampler")
    ),
)


def milestone(name: str) -> Milestone:
    """The milestone of that name.

    Raises:
        KeyError: there is none.
    """
    return {one.name: one for one in MILESTONES}[name]
