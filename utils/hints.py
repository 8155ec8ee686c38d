"""What an exception in a student's code, or a type of numbers, usually comes from, in a sentence."""

from utils.records import Failure

_HINTS = (  # phrases of errors' texts, and what they mean
    (
        ("cannot be multiplied", "Expected size for", "batch1 and batch2", "inconsistent tensor size", "size mismatch"),
        "Two shapes do not fit. Write each factor's shape beside the line: a product [.., n, k] @ [.., k, m] needs equal k.",
    ),
    (
        ("must match the size", "not broadcastable", "doesn't match the broadcast"),
        "Two shapes do not line up. Write both beside the line: from the last axis on, sizes must be equal, or one of them 1.",
    ),
    (
        ("not enough values to unpack", "too many values to unpack", "must be a 3D tensor", "Dimension out of range",
         "self must be a matrix", "number of subscripts"),
        "The number of axes is not always the same here: count from the end (shape[-1], dim=-1, .mT, @).",
    ),
    (("torch.return_types",), "max(dim=…) gives a pair, the values and where they are: take .values, or use amax."),
    (
        ("leaf Variable", "leaf variable"),
        "An input was overwritten in place (+=, -=, or a method that ends in _). Make a new tensor instead.",
    ),
    (
        ("view size is not compatible",),
        "The numbers of this input do not lie side by side in memory: use reshape, which copies where it must.",
    ),
    (
        ("the same dtype", "Float and Double", "Double but found Float", "Float but found Double"),
        "A tensor that your code makes is of another precision than the inputs: use new_zeros, zeros_like, or dtype=.",
    ),
    (
        ("Boolean value of Tensor with more than one value",),
        "There is one answer for each element of the batch: use (…).all() or (…).any(), or keep a boolean tensor.",
    ),
    (
        ("cannot be converted to Scalar", "can be converted to Python scalars"),
        "There is one number for each element of the batch; .item() and int() take a single one.",
    ),
    (("RNN input dtype",), "These are words' numbers. Look up the words' vectors first: self.embedding(tokens)."),
    (
        ("scalar types: Long", "used as indices must be long"),
        "Words, and places to index with, are whole numbers: dtype=torch.long.",
    ),
    (
        ("must be Tensor, not int",),
        "A tensor is wanted, one word for each sentence of the batch: torch.full_like(y[:, 0], START) makes one.",
    ),
    (("selected index k out of range",), "topk is asked for more than there are: min(k, how many there are)."),
    (
        ("exceeds dimension size",),
        "Is the batch the first axis everywhere? nn.RNN and the functions for packing each take batch_first=True.",
    ),
    (("call numpy() on Tensor",), "NumPy cannot follow gradients. Stay in torch from the inputs to the result."),
    (
        ("uninitialized parameter",),
        "The check needs the layers' shapes at once: use nn.Linear(in, out) in the place of a lazy layer.",
    ),
)  # fmt: skip


def hint(failure: Failure, sizes: dict) -> str:
    """A line to put below an exception, or nothing. `sizes` are the case's symbols."""
    for phrases, meaning in _HINTS:
        if any(phrase in failure.text for phrase in phrases):
            return f"\n{meaning}"
    symbols = [symbol for symbol in sizes if f"'{symbol}'" in failure.text]
    if failure.type == "NameError" and symbols:
        return f"\n{symbols[0]} is a name for a size, not a variable: read it from a tensor, such as X.shape[-1] for its width."
    if failure.type == "NameError":
        return "\nA name is used that nothing defines at this point: a typing slip, or a variable of another cell."
    return ""


def origin(dtype: str) -> str:
    """Where numbers of a type that was not asked for usually come from."""
    if dtype in ("torch.float16", "torch.bfloat16"):
        return ".half(), .bfloat16() or autocast"
    if not dtype.startswith("torch.float"):
        return "an argmax, a comparison or // where weights were meant"
    return f"a tensor that your code makes without dtype=, or .{'float' if dtype == 'torch.float32' else 'double'}()"
