"""What is told where ordinary inputs give the right result, and a condition alone does not."""

UNDER = {
    "float64": "Inputs of float32 give the right result; inputs of float64 do not: is something fixed to float32 on the way, or"
    " made in torch's usual type, so that two types meet?",
    "bfloat16": "Ordinary inputs give the right result; inputs of bfloat16 do not: is a count or a position computed in the"
    " inputs' own type, something fixed to another, or is a function called that does not exist for it?",
    "layout": "Inputs that lie in memory in order give the right result; some views, such as slices with a step or transposed"
    " tensors, do not: does something depend on how numbers lie in memory?",
    "large": "Ordinary numbers give the right result; some large ones do not. Does something overflow or underflow: exp without"
    " the maximum of its own row subtracted, a square, a type with fewer digits? Is a number cut off, or one that stands for"
    " infinity not large enough?",
    "spread": "Ordinary inputs give the right result; numbers that differ much in size do not. Is something small cut off,"
    " or a number"
    " that stands for infinity not large enough?",
    "zero": "Ordinary numbers give the right result; zeros do not. Is 0 taken as a sign of something, or divided by?",
    "saturation": "Ordinary numbers give the right result; some large ones, at which a softmax, a sigmoid or a tanh would"
    " saturate, do not.",
    "training": "Eval mode gives the right result; training mode does not: is there a dropout, a batch"
    " normalisation, or a branch on self.training?",
    "ones": "Sizes larger than 1 give the right result; a size of 1 does not always. Does squeeze() take an axis away, or does"
    " an axis of size 1 broadcast where it should not? Is such a size treated by itself?",
    "equal": "Sizes that differ give the right result; sizes that coincide do not always. Is an axis recognised by its size, or"
    " does a missing"
    " axis broadcast by luck?",
    "batches": "Another number of batch axes gives the right result: count axes from the end, and name none in front.",
    "scale": "Small sizes give the right result; some large one does not: is a number of positions, or a width, fixed"
    " somewhere, or is something cut off that becomes small among many?",
}

UNDER_GRADIENT = {  # the same, where the result is right under the condition too, and the gradient is not
    "zero": "With ordinary numbers gradients are right as well; with zeros they are not.",
    "saturation": "With ordinary numbers gradients are right as well; with large ones, at which a softmax, a"
    " sigmoid or a tanh would saturate, they are not.",
}
