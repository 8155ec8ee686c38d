"""What an exception in a student's code, or a type of numbers, usually comes from, in a sentence."""

import re

from utils.checking.records import Failure

_HINTS = (  # phrases of errors' texts, and what they mean
    (
        ("NoneType",),
        "Something that this line uses is None, or holds None. Does a function or method of your own lack its `return`? Is the"
        " result of a call used that only does something (append, print, backward())? Does a variable still hold the None that it"
        " began with, or is an argument None?",
    ),
    (
        ("cannot be multiplied", "Expected size for", "batch1 and batch2", "inconsistent tensor size", "size mismatch"),
        "Two shapes do not fit. Write each factor's shape beside the line: a product [.., n, k] @ [.., k, m] needs equal k.",
    ),
    (
        ("must match the size", "not broadcastable", "doesn't match the broadcast"),
        "Two shapes do not line up. Write both beside the line: from the last axis on, sizes must be equal, or one of them 1. If"
        " an axis is missing, put one of size 1 in its place: [:, None] makes it the second, behind the batch, [..., None, :] the"
        " last but one, [..., None] the last.",
    ),
    (
        ("not enough values to unpack", "too many values to unpack"),
        "More or fewer came than there are names on the left. If it is a shape, count from the end (shape[-1], shape[-2]). If it"
        " is a layer's result: is it one tensor? chunk(2) makes two pieces, split(2) pieces of two, both along the first axis"
        " unless dim= says another.",
    ),
    (
        ("too many indices for tensor",),
        "There are more axes in square brackets than the tensor has. Truth values and bytes (torch.uint8) in square brackets are"
        " a mask, which takes as many axes as it has itself; places to look up are int64: .long(). Where the number of axes"
        " varies, begin with an ellipsis, X[..., 0].",
    ),
    (
        ("must be a 3D tensor", "Dimension out of range", "self must be a matrix", "number of subscripts",
         "number of dimensions in the tensor"),
        "The number of axes is not always the same here: count from the end (shape[-1], dim=-1, .mT, @), and give squeeze() its"
        " axis.",
    ),
    (("last dimension with stride 1",), "view_as_complex wants a pair's numbers side by side in memory: .contiguous() first."),
    (
        ("'Embedding' object is not subscriptable", "'Linear' object is not subscriptable"),
        "A layer is called, not indexed: table(torch.arange(N)); or take rows of its weight, table.weight[:N].",
    ),
    (("diag(): Supports 1D or 2D",), "torch.diag takes one matrix; E.diagonal(k, dim1=-2, dim2=-1) takes each of a batch."),
    (
        ("not compiled with CUDA", "Found no NVIDIA driver", "not linked with support for mps", "No CUDA GPUs are available"),
        "A tensor or layer is sent to a GPU by name, and there is none here. X.device is the device of an input X, wherever it"
        " is: device=X.device, .to(X.device).",
    ),
    (
        ("EOF when reading a line",),
        "input() waits for somebody at the keyboard, and grading has nobody there: take it out.",
    ),
    (
        ("on the same device", "same device as the indexed"),
        "A tensor that your code makes lies on another device than the inputs: device=X.device, or new_zeros and zeros_like.",
    ),
    (
        ("support float64", "Trying to convert Double to the MPS", "Trying to convert ComplexDouble to the MPS"),
        "Apple's GPUs (MPS) have no double precision, which your code asks for. Keep the inputs' type (dtype=X.dtype), or compute"
        " this step on the CPU and bring it back: X.cpu().double() … .to(X.dtype).to(X.device).",
    ),
    (
        ("not currently implemented for the MPS",),
        "PyTorch does not have this operation on Apple's GPUs (MPS). Your code may be right all the same: to check it on the CPU,"
        ' run import os; os.environ["COURSE_DEVICE"] = "cpu" in a cell above.',
    ),
    (("to have non-zero size",), "An axis has no entries here: is a range, or a slice, one step too long?"),
    (
        ("The shape of the mask",),
        "A mask in square brackets needs the tensor's own axes and sizes, one for one. Where only an axis is missing, or is 1,"
        " masked_fill and torch.where broadcast it.",
    ),
    (
        ("out of bounds for dimension",),
        "An index is negative, or too large for the axis it is used on: is it the right axis? Is a value of a tensor used as"
        " the index of a row?",
    ),
    (
        ("tuple index out of range",),
        "A tensor has fewer axes than this line expects. argmax, sum and an index take an axis away; keepdim=True, or [:, None],"
        " gives it back.",
    ),
    (
        ("expected Tensor as element",),
        "torch.stack and torch.cat take tensors alone. The sum() of an empty list is Python's own 0: begin with a tensor,"
        " x.new_zeros(()).",
    ),
    (
        ("Expected target size",),
        "cross_entropy looks for the classes on axis 1: logits.mT for [B, N, V], or flatten both to [B*N, V] and [B*N].",
    ),
    (
        ("is invalid for input of size",),
        "A new shape must hold as many numbers as the old one. Is a size another tensor's, or does it not divide evenly?",
    ),
    (
        ("type must be tuple of ints,but got float", "'float' object cannot be interpreted as an integer"),
        "A size is an integer: // divides without a fraction, / does not.",
    ),
    (
        ("must be tuple of Tensors, not Tensor",),
        "cat and stack take a list of tensors. X.unbind(dim) makes one of a tensor, X.chunk(H, dim) a list of H pieces.",
    ),
    (("torch.return_types",), "max(dim=…) gives a pair, the values and where they are: take .values, or use amax."),
    (
        ("leaf Variable", "leaf variable"),
        "An input was overwritten in place (+=, -=, or a method that ends in _). Make a new tensor instead.",
    ),
    (
        ("is a view and is being modified inplace", "modified inplace because it is an output"),
        "What chunk, split and unbind give are views of one tensor: gradients do not allow +=, /= or a method that ends in _ on"
        " them. Make a new tensor: Q = Q / …",
    ),
    (
        ("view size is not compatible",),
        "The numbers of this tensor do not lie side by side in memory, as after a transpose: use reshape, which copies where it"
        " must.",
    ),
    (
        ("the same dtype", "Float and Double", "Double but found Float", "Float but found Double"),
        "Two types of numbers meet. A tensor that your code makes gets the type of an input X by X.new_zeros, zeros_like(X), or"
        " dtype=X.dtype; numbers of another type are converted by .to(X.dtype). .float() always gives float32.",
    ),
    (
        ("Boolean value of Tensor with more than one value",),
        "if, and, or, and Python's max and min take single numbers. Element by element: torch.maximum, torch.where, &. Of a list"
        " of tensors: torch.stack(…).amax(dim=0). For one answer: (…).all() or (…).any(). Whether there is a tensor at all: x is"
        " None. Whether a list holds a tensor: any(x is one for one in …), since in, index and remove compare by ==.",
    ),
    (
        ("cannot be converted to Scalar", "can be converted to Python scalars"),
        "int(), .item() and all of math (math.sin, math.sqrt) take a single number; torch.sin takes a tensor. Of a list of"
        " tensors, torch.stack makes one.",
    ),
    (("RNN input dtype",), "These are token ids. Look up their embeddings first: self.embedding(tokens)."),
    (
        ("scalar types: Long", "used as indices must be long"),
        "Token ids, and positions to index with, are integers: dtype=torch.long. (An embedding table is indexed by integers,"
        " not by vectors.)",
    ),
    (
        ("must be Tensor, not int", "must be Tensor, not float", "got (int, Tensor", "got (float, Tensor"),
        "A tensor is wanted where a number stands. torch.full_like(y[:, 0], START) makes tokens, torch.arange(N) positions,"
        " zeros_like or new_full(shape, value) something to begin with; of a single number math.sqrt takes the root.",
    ),
    (
        ("max() received an invalid combination", "min() received an invalid combination"),
        "max and min take one axis, and give values and indices; amax and amin take several, and give values.",
    ),
    (("selected index k out of range",), "topk is asked for more than there are: min(k, how many there are)."),
    (
        ("exceeds dimension size",),
        "Is the batch the first axis everywhere? nn.RNN and the functions for packing each take batch_first=True.",
    ),
    (
        ("with a bool tensor is not supported", "with two bool tensors is not supported"),
        "True and False are not subtracted. ~mask turns a mask round; mask.to(E.dtype) makes numbers of it, if you need them.",
    ),
    (
        ("Tensors must have same number of dimensions", "Sizes of tensors must match except in dimension"),
        "torch.cat joins along one axis alone: the tensors need the same number of axes, and the same size along each other"
        " axis, also where one of them has size 1: cat does not broadcast, expand does. Print their shapes: is an axis lost, or"
        " not expanded, or is dim= another axis than the one that grows?",
    ),
    (
        ("don't support automatic differentiation",),
        "out= writes into a tensor that is there already, which gradients do not allow. Use the value that is returned: m ="
        " torch.maximum(m, new).",
    ),
    (
        ("equal size",),
        "torch.stack needs tensors of one shape: print the shapes of those in the list.",
    ),
    (("call numpy() on Tensor",), "NumPy cannot follow gradients. Stay in torch from the inputs to the result."),
    (
        ("uninitialized parameter",),
        "The check needs the layers' shapes at once: use nn.Linear(in, out) in the place of a lazy layer.",
    ),
)  # fmt: skip


_LINES = (  # what the line must look like, a phrase of the error's text, and what the two mean
    (
        r"\w\.T\b",
        "size",
        "Two sizes do not fit: write both shapes beside the line. Of more than two axes .T turns"
        " all round, the batch too; .mT swaps the last two.",
    ),
    (
        r"diagonal\((?!.*dim1)",
        "reduction dim",
        "diagonal(k) takes the first two axes, the batch among them; for the last two say dim1=-2, dim2=-1.",
    ),
    (
        r"@|matmul",
        "must match the size",
        "Two shapes do not line up. In a product @ the axes in front of the last two (the batch, the heads) are compared from the"
        " right: they must be equal, or one of them 1 or missing. Were two axes swapped, or did a new one come in the wrong"
        " place? .mT swaps the last two. In sums and quotients all sizes are compared in this way.",
    ),
)


def advice(failure: Failure, sizes: dict, constructor: tuple = ()) -> str:
    """What an exception usually comes from; empty where that is not known.

    Args:
        sizes: those of the case's axes, by symbol.
        constructor: the arguments of __init__.
    """
    missing = re.search(r"name '(\w+)' is not defined|has no attribute '(\w+)'", failure.text)
    name = missing and (missing[1] or missing[2])
    if name in constructor:
        return f"{name} is an argument of __init__; what forward needs of it is kept there: self.{name} = {name}."
    for code, phrase, meaning in _LINES:
        if re.search(code, failure.line) and phrase in failure.text:
            return meaning
    for phrases, meaning in _HINTS:
        if any(phrase in failure.text for phrase in phrases):
            return meaning
    symbols = [symbol for symbol in sizes if f"'{symbol}'" in failure.text]
    if failure.type == "NameError" and symbols:
        return f"{symbols[0]} is a name for a size, not a variable: read it from a tensor, such as X.shape[-1] for its width."
    if failure.type == "AttributeError" and name and f".{name}" in failure.line:
        return (
            f"What stands before .{name} has nothing of that name: is it another kind of object than this line expects?"
        )
    if failure.type == "NameError":
        return "A name is used that nothing defines at this point: a typing slip, or a variable of another cell."
    return ""


def integers(expected: str, actual: str) -> str:
    """The rest of a sentence where integers, or truth values, of one type were asked for and others came."""
    if expected == "torch.bool":
        return "it should hold True and False, torch.bool, as a comparison gives them."
    if expected == "torch.uint8":
        return f"it should hold bytes, integers from 0 to 255, of type {expected}."
    asked = f"it should hold integers (counts, positions, token ids), of type {expected}."
    if actual == "torch.bool":
        return f"{asked} Is it a comparison?"
    if "float" in actual:
        return (
            f"{asked} /, a root, .float(), zeros or ones without dtype=, and .to() another type make numbers with a"
            " fraction."
        )
    return f"{asked} A smaller type overflows where numbers get large."


def origin(dtype: str) -> str:
    """Where numbers of a type that was not asked for usually come from."""
    if dtype in ("torch.float16", "torch.bfloat16"):
        return ".half(), .bfloat16() or autocast"
    if not dtype.startswith("torch.float"):
        return "an argmax, a comparison or // where numbers with a fraction were meant"
    short = "float" if dtype == "torch.float32" else "double"
    return f"a tensor that your code makes without dtype=, a dtype= that names another type, or .{short}()"
