"""The references of unit 14 against public code: transformers' loss of DETR and decoder layers, and AP by plain loops."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import TableTransformerConfig
from transformers.loss.loss_for_object_detection import ImageLoss
from transformers.models.table_transformer.modeling_table_transformer import TableTransformerDecoderLayer

from autograder.bank.cases.drawing import draw
from autograder.bank.catalogue import find_exercise

D, H, N_Q, C, LAYERS, B, N = 12, 3, 5, 4, 2, 2, 7


def reference(name):
    return find_exercise(name).reference


def drawn(name):
    """The inputs of the exercise's declared cases, as tensors."""
    for case in draw(find_exercise(name), "oracle"):
        if not case.condition and not case.layout:
            yield {
                key: value if isinstance(value, float) else torch.as_tensor(value) for key, value in case.inputs.items()
            }


class GivenMatching(nn.Module):
    """A matcher that knows the pairs."""

    def __init__(self, pairs):
        super().__init__()
        self.pairs = pairs

    def forward(self, outputs, targets):
        return self.pairs


def test_the_loss_is_that_of_transformers():
    for given in drawn("set_loss"):
        logits, boxes, labels, targets, exists, matched = given.values()
        pairs = [(queries[real], torch.arange(int(real.sum()))) for queries, real in zip(matched, exists)]
        wanted = [{"class_labels": one[real], "boxes": box[real]} for one, box, real in zip(labels, targets, exists)]
        theirs = ImageLoss(GivenMatching(pairs), logits.shape[-1] - 1, 0.1, ["labels", "boxes"])
        parts = theirs({"logits": logits, "pred_boxes": boxes}, wanted)
        assert_close(reference("set_loss")(**given), parts["loss_ce"] + 5 * parts["loss_bbox"] + 2 * parts["loss_giou"])


def test_gradients_reach_logits_and_boxes():
    given = next(drawn("set_loss"))
    learned = [given[name].requires_grad_() for name in ("logits", "boxes")]
    assert all(one.abs().sum() > 0 for one in torch.autograd.grad(reference("set_loss")(**given), learned))


def moved(module):
    """The module with every parameter drawn anew, norms too."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module.eval()


def test_the_decoder_has_the_layers_of_table_transformer():
    """Which is DETR with the norms in front; the heads are applied here."""
    config = TableTransformerConfig(
        d_model=D, decoder_attention_heads=H, decoder_ffn_dim=4 * D, activation_function="relu", dropout=0.0
    )
    theirs = [moved(TableTransformerDecoderLayer(config)) for _ in range(LAYERS)]
    ours = moved(reference("QueryDecoder")(D, H, N_Q, C, LAYERS))
    for n, layer in enumerate(theirs):
        moved(layer)
        for own, their in ((ours.own[n], layer.self_attn), (ours.cross[n], layer.encoder_attn)):
            parts = (their.q_proj, their.k_proj, their.v_proj)
            own.in_proj_weight.data = torch.cat([one.weight for one in parts]).detach()
            own.in_proj_bias.data = torch.cat([one.bias for one in parts]).detach()
            own.out_proj.load_state_dict(their.out_proj.state_dict())
        ours.norm_own[n].load_state_dict(layer.self_attn_layer_norm.state_dict())
        ours.norm_cross[n].load_state_dict(layer.encoder_attn_layer_norm.state_dict())
        ours.norm_mlp[n].load_state_dict(layer.final_layer_norm.state_dict())
        ours.mlp[n][0].load_state_dict(layer.fc1.state_dict())
        ours.mlp[n][2].load_state_dict(layer.fc2.state_dict())
    memory, position = torch.randn(B, N, D), torch.randn(N, D)
    queries = ours.queries.expand(B, -1, -1)
    with torch.no_grad():
        X = torch.zeros(B, N_Q, D)
        logits, boxes = ours(memory, position)
        for n, layer in enumerate(theirs):
            X = layer(
                X,
                object_queries=position.expand(B, -1, -1),
                query_position_embeddings=queries,
                encoder_hidden_states=memory,
            )
            X = X[0] if isinstance(X, tuple) else X
            assert_close(logits[n], ours.to_classes(ours.norm(X)))
            assert_close(boxes[n], ours.to_boxes(ours.norm(X)).sigmoid())


def test_the_order_of_the_queries_is_all_that_tells_them_apart():
    ours = moved(reference("QueryDecoder")(D, H, N_Q, C, LAYERS))
    memory, position, order = torch.randn(B, N, D), torch.randn(N, D), torch.randperm(N_Q)
    with torch.no_grad():
        logits, boxes = ours(memory, position)
        ours.queries.copy_(ours.queries[order].clone())
        found = ours(memory, position)
    assert_close(found[0], logits[:, :, order])
    assert_close(found[1], boxes[:, :, order])


def overlap(one, other):
    width = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    height = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return width * height / (sum(areas) - width * height)


def plainly(scores, boxes, targets, threshold):
    """AP as the area under the staircase, detection by detection."""
    left, right = list(targets), []
    for _, box in sorted(zip(scores, boxes), key=lambda pair: -pair[0]):
        best = max(left, key=lambda target: overlap(box, target), default=None)
        right.append(best is not None and overlap(box, best) >= threshold)
        if right[-1]:
            left.remove(best)
    points = [(sum(right[:n]) / len(targets), sum(right[:n]) / n) for n in range(1, len(right) + 1)]
    area, before = 0.0, 0.0
    for recall, _ in points:
        area += (recall - before) * max(precision for other, precision in points if other >= recall)
        before = recall
    return area


def test_average_precision_is_the_area_by_plain_loops():
    for given in drawn("average_precision"):
        lists = {key: value if isinstance(value, float) else value.tolist() for key, value in given.items()}
        assert reference("average_precision")(**given).item() == pytest.approx(plainly(**lists), abs=1e-6)


def test_the_last_precisions_count_where_they_are_higher():
    """Right, wrong, right, right: precisions 1, 1/2, 2/3, 3/4, of which the envelope makes 1, 3/4, 3/4, 3/4."""
    targets = torch.tensor([[0.0, 0, 1, 1], [2, 0, 3, 1], [4, 0, 5, 1], [6, 0, 7, 1]])
    boxes = torch.cat([targets[:1], torch.tensor([[9.0, 9, 10, 10]]), targets[1:3]])
    found = reference("average_precision")(torch.tensor([0.9, 0.8, 0.7, 0.6]), boxes, targets, 0.5)
    assert found.item() == pytest.approx((1 + 0.75 + 0.75) / 4)


@pytest.mark.parametrize(("groups", "size", "N_Q"), [(2, 3, 4), (5, 1, 2), (0, 3, 2)])
def test_the_noised_learn_nothing_of_other_groups_and_the_matching_nothing_of_them(groups, size, N_Q):
    """Through any number of layers: who can be reached in steps is who is seen at once."""
    allowed = reference("denoising_mask")(groups, size, N_Q)
    assert torch.equal((allowed.float() @ allowed.float()) > 0, allowed)
    assert allowed.sum() == groups * size**2 + N_Q * (groups * size + N_Q)
