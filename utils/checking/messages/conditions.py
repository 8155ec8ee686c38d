"""What is told where all is right on ordinary inputs, and wrong under one condition alone."""

UNDER = {
    "float64": "All is right in single precision, and not in double: is something fixed to float32 on the way?",
    "bfloat16": "All is right in single and double precision, and not in bfloat16: is something computed in the inputs' own type that"
    " needs more digits, such as a count or a position, or fixed to another type?",
    "layout": "All is right where inputs lie in memory in order, and not where they are views, such as transposed or sliced tensors:"
    " reshape takes any layout, view does not.",
    "large": "All is right for ordinary numbers, and not for large ones. Does exp overflow, or underflow to 0 because one maximum serves"
    " several rows? Is a number cut off, or used in the place of infinity?",
    "spread": "All is right where numbers are of about one size, and not where they differ much: is something small cut off, or a"
    " large number not large enough?",
    "zero": "All is right except where numbers are exactly 0: is 0 taken as a sign of something, or divided by?",
    "gradients": "The results are right where nobody asks for gradients.",
    "saturation": "All is right for ordinary numbers; it is at large ones, where weights are nearly 0 or 1, that the gradient is not.",
    "training": "All is right in eval mode, and not in training mode: is there a dropout, or a branch on self.training?",
    "device": "",
    "calls": "",
    "ones": "All is right where every size is larger than 1. Does squeeze() take away an axis of size 1, or does such an axis broadcast"
    " where it should not?",
    "equal": "All is right where sizes differ, and not where they coincide: is an axis recognised by its size, or does a missing axis"
    " broadcast by luck?",
    "batches": "All is right for another number of batch axes: count axes from the end, and name none in front.",
    "scale": "All is right for short inputs, and not for long or wide ones: is there a number of positions, or a width, that is fixed?",
}
