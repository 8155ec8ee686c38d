"""Unit 01, sequence-to-sequence with RNNs: a step, an encoder, a decoder, its loss, and two ways to decode."""

from autograder.exercises.unit_01_rnn_seq2seq.beam import beam_search
from autograder.exercises.unit_01_rnn_seq2seq.decoder import Decoder
from autograder.exercises.unit_01_rnn_seq2seq.encoder import Encoder
from autograder.exercises.unit_01_rnn_seq2seq.greedy import greedy_decode
from autograder.exercises.unit_01_rnn_seq2seq.loss import masked_cross_entropy
from autograder.exercises.unit_01_rnn_seq2seq.step import rnn_step

EXERCISES = (rnn_step, Encoder, Decoder, masked_cross_entropy, greedy_decode, beam_search)
