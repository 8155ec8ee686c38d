"""The scheme of a block shows what tells the two wirings apart: where the normalisations stand."""

from utils.figures.blocks import block_wirings, mixture_of_experts


def places(axes, label):
    """Where across the panel the writing `label` stands, from the bottom to the top."""
    return [text.get_position()[0] for text in axes.texts if text.get_text().startswith(label)]


def test_norms_stand_on_the_stream_in_post_norm_and_on_the_branches_in_pre_norm():
    post, pre = block_wirings().axes
    stream = places(post, "+")[0]
    assert places(post, "norm") == [stream, stream]
    assert len(places(pre, "norm")) == 2 and stream not in places(pre, "norm")
    for panel in (post, pre):
        assert len(places(panel, "attention")) == len(places(panel, "MLP")) == 1 and len(places(panel, "+")) == 2


def test_the_chosen_experts_have_their_gates_and_the_others_have_none():
    (axes,) = mixture_of_experts([0.5, 2.0, -1.0, 1.0], 2).axes
    gates = [text.get_text() for text in axes.texts if text.get_text().startswith("$g_")]
    assert gates == ["$g_1$ = 0.731", "$g_3$ = 0.269"]
    assert sum(text.get_text() == "$x$" for text in axes.texts) == 1 + 2  # the token, and what the chosen two are given
