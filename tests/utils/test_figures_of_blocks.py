"""The scheme of a block shows what tells the two wirings apart: where the normalisations stand."""

from utils.figures.blocks import block_wirings


def places(axes, label):
    """Where across the panel the writing `label` stands, from the bottom to the top."""
    return [text.get_position()[0] for text in axes.texts if text.get_text().startswith(label)]


def test_norms_stand_on_the_stream_in_post_norm_and_on_the_branches_in_pre_norm():
    post, pre = block_wirings().axes
    stream = places(post, "+")[0]
    assert places(post, "LayerNorm") == [stream, stream]
    assert len(places(pre, "LayerNorm")) == 2 and stream not in places(pre, "LayerNorm")
    for panel in (post, pre):
        assert len(places(panel, "attention")) == len(places(panel, "MLP")) == 1 and len(places(panel, "+")) == 2
