"""Unit 01, sequence-to-sequence with RNNs: a step, an encoder, a decoder, its loss, two ways to decode; a gated step."""

EXERCISES = (  # in the assignment's order
    "rnn_step",
    "Encoder",
    "Decoder",
    "masked_cross_entropy",
    "greedy_decode",
    "beam_search",
    "gru_step",
)
