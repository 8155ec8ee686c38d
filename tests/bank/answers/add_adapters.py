"""Answers to add_adapters (assignment 15)."""

import copy
import functools
import operator

import torch
from answers import before, change, left_open, right, wrong
from torch import nn


def _chosen(network, names):
    """Full name, own name, the module that holds it, and the layer: of all that are to be replaced."""
    found = []
    for full, module in network.named_modules():
        path, _, own = full.rpartition(".")
        if isinstance(module, nn.Linear) and own in names:
            found.append((full, own, network.get_submodule(path), module))
    return found


# --------------------------------------------------------------------------------------------------------------- right


@right("list of all modules, rpartition, setattr")
def plainly(network, names, adapter):
    network.requires_grad_(False)
    for full, module in list(network.named_modules()):
        path, _, own = full.rpartition(".")
        if isinstance(module, nn.Linear) and own in names:
            setattr(network.get_submodule(path), own, adapter(module))
    return network


@right("recursion through the children, which does not go into a layer that it has just put there")
def recursive(network, names, adapter):
    for parameter in network.parameters():
        parameter.requires_grad = False

    def walk(module):
        for own, child in list(module.named_children()):
            if own in names and isinstance(child, nn.Linear):
                setattr(module, own, adapter(child))
            else:
                walk(child)

    walk(network)
    return network


@right("replaces first, and freezes at the end the parameters that it listed at the beginning")
def freezes_last(network, names, adapter):
    old = list(network.parameters())
    for _, own, parent, layer in _chosen(network, names):
        setattr(parent, own, adapter(layer))
    for parameter in old:
        parameter.requires_grad_(False)
    return network


@right("walks through named_modules while it replaces: what it replaces is already behind it")
def live(network, names, adapter):
    network.requires_grad_(False)
    wanted = frozenset(names)
    for full, module in network.named_modules():
        *path, own = full.split(".")
        if type(module) is nn.Linear and own in wanted:
            setattr(network.get_submodule(".".join(path)), own, adapter(module))
    return network


@right("network.apply, which calls the function for the children before it calls it for the module that holds them")
def by_apply(network, names, adapter):
    def adapt(module):
        for own, child in module._modules.items():
            if isinstance(child, nn.Linear) and own in names:
                module._modules[own] = adapter(child)

    return network.requires_grad_(False).apply(adapt)


@right("a stack in place of recursion, from the last layer to the first")
def with_a_stack(network, names, adapter):
    for _, parameter in network.named_parameters():
        parameter.requires_grad_(False)
    waiting = [network]
    while waiting:
        module = waiting.pop()
        for own, child in module.named_children():
            chosen = own in names and isinstance(child, nn.Linear)
            if chosen:
                module.add_module(own, adapter(child))
            else:
                waiting.append(child)
    return network


@right("the path walked by getattr with functools.reduce")
def reduced(network, names, adapter):
    [parameter.requires_grad_(False) for parameter in network.parameters()]
    linear = {full: module for full, module in network.named_modules() if isinstance(module, nn.Linear)}
    for full in linear:
        *path, own = full.split(".")
        if names.count(own):
            setattr(functools.reduce(getattr, path, network), own, adapter(linear[full]))
    return network


@right("set_submodule with the full name")
def by_set_submodule(network, names, adapter):
    network = network.requires_grad_(False)
    found = [(full, layer) for full, _, _, layer in _chosen(network, names)]
    for full, layer in reversed(found):
        network.set_submodule(full, adapter(layer))
    return network


@right("makes all adapted layers first and puts them in their places afterwards; freezes in between, by the old list")
def in_two_rounds(network, names, adapter):
    old = [*network.parameters()]
    made = [(parent, own, adapter(layer)) for _, own, parent, layer in _chosen(network, names)]
    list(map(operator.methodcaller("requires_grad_", False), old))
    for place in made:
        setattr(*place)
    return network


@right("all modules as holders, each asked for its own children; what is adapted is not among the holders")
def holders(network, names, adapter):
    network.requires_grad_(False)
    for holder in list(network.modules()):
        for own in set(names):
            child = dict(holder.named_children()).get(own)
            if isinstance(child, nn.Linear):
                setattr(holder, own, adapter(child))
    return network


@right("everything frozen at the end by the identity of the parameters from the beginning")
def by_identity(network, names, adapter):
    before = {id(parameter) for parameter in network.parameters()}
    for _, own, parent, layer in _chosen(network, names):
        parent._modules[own] = adapter(layer)
    for parameter in network.parameters():
        if id(parameter) in before:
            parameter.requires_grad = False
    return network


@right("each module frozen by itself, without its children, in the same walk that looks for layers")
def frozen_on_the_way(network, names, adapter):
    def walk(module):
        for parameter in module.parameters(recurse=False):
            parameter.requires_grad_(False)
        for own, child in tuple(module.named_children()):
            walk(child)
            if isinstance(child, nn.Linear) and own in names:
                setattr(module, own, adapter(child))

    walk(network)
    return network


@right("calls itself for each name, one after the other, with the modules as they were before the first")
def name_by_name(network, names, adapter, modules=None):
    modules = list(network.named_modules()) if modules is None else modules
    if not names:
        for _, module in modules:
            for parameter in module._parameters.values():
                if parameter is not None:
                    parameter.requires_grad = False
        return network
    first, *rest = names
    for full, module in modules:
        if (full == first or full.endswith("." + first)) and "." not in first and isinstance(module, nn.Linear):
            if first not in rest:  # once for each name
                setattr(network.get_submodule(full[: -len(first)].rstrip(".")), first, adapter(module))
    return name_by_name(network, rest, adapter, modules)


# Right, and not registered: answers below are changes of it.
def _plain(network, names, adapter):
    network.requires_grad_(False)
    for _, own, parent, layer in _chosen(network, names):
        setattr(parent, own, adapter(layer))
    return network


# ------------------------------------------------------------------------------------------- wrong: freezing (concept)


change(_plain, "attribute_only",
       "nothing is frozen: network.requires_grad = False only makes an attribute of the module", "concept",
       (".requires_grad_(False)", ".requires_grad = False"))
change(freezes_last, "adapters_frozen",
       "frozen after replacing, so the adapters' parameters are frozen too and nothing learns", "concept",
       ("old = list(network.parameters())", ""), ("old:", "network.parameters():"),
       (".requires_grad_(False)", ".requires_grad = False"))
change(_plain, "only_chosen_frozen",
       "only the layers that get an adapter are frozen; all others go on learning", "concept",
       ("network.requires_grad_(False)", ""),
       before("setattr(parent, own, adapter(layer))", "layer.requires_grad_(False)"))
change(_plain, "norms_learn", "only linear layers are frozen: the norms' weights learn", "concept",
       ("network.requires_grad_(False)", """
        for module in network.modules():
            if isinstance(module, nn.Linear):
                module.requires_grad_(False)"""))
change(_plain, "last_layer_learns",
       "the last layer of the network is left out of the freezing, as in ordinary fine-tuning of a head", "concept",
       before("for",
              "[module for module in network.modules() if isinstance(module, nn.Linear)][-1].requires_grad_(True)"))
change(_plain, "biases_learn", "only parameters called weight are frozen, so the biases learn", "concept",
       ("network.requires_grad_(False)", """
        for name, parameter in network.named_parameters():
            if name.endswith("weight"):
                parameter.requires_grad = False"""))
change(_plain, "old_weights_learn", "what learns is found by names that are new after the replacing: the old weights "
       "inside the adapted layers have new full names too, and learn", "concept",
       ("network.requires_grad_(False)", "before = {name for name, _ in network.named_parameters()}"),
       before("return network", """
        for name, parameter in network.named_parameters():
            parameter.requires_grad = name not in before"""))


@wrong(
    "everything is frozen except what begins with the name of a replaced layer (old layer apart): where output is "
    "chosen, the neighbour output_gate learns as well",
    kind="concept",
)
def prefix_learns(network, names, adapter):
    chosen = _chosen(network, names)
    places = tuple(full for full, *_ in chosen)
    for name, parameter in network.named_parameters():
        parameter.requires_grad = bool(places) and name.startswith(places)
    for _, own, parent, layer in chosen:
        layer.requires_grad_(False)
        setattr(parent, own, adapter(layer))
    return network


change(_plain, "only_last_adapter_learns",
       "the network is frozen again before each single replacement, so that only the last adapter learns", "concept",
       before("setattr(parent, own, adapter(layer))", """
        for parameter in network.parameters():
            parameter.requires_grad = False"""))


@wrong("a network in which no layer is chosen is given back before it is frozen", kind="edge")
def nothing_chosen(network, names, adapter):
    chosen = _chosen(network, names)
    if len(chosen) > 0:
        network.requires_grad_(False)
        for _, own, parent, layer in chosen:
            setattr(parent, own, adapter(layer))
    return network


# ------------------------------------------------------------------------------------------- wrong: choosing (concept)


change(plainly, "part_of_own_name",
       "a name is looked for anywhere in the own name, so gate chooses output_gate too", "concept",
       ("own in names", "any(name in own for name in names)"))
change(plainly, "full_name_ends", "full names that end with a name are chosen, without the dot: gate chooses "
       "output_gate too (output does not)", "concept",
       ('path, _, own = full.rpartition(".")', ""), ("own in names", "full.endswith(tuple(names))"),
       before("setattr(network.get_submodule(path), own, adapter(module))", 'path, _, own = full.rpartition(".")'))
change(plainly, "any_part", "any part of the full name counts: attention chooses all linear layers inside of it, and 0 "
       "those of the first block", "concept",
       ('path, _, own = full.rpartition(".")', 'parts = full.split(".")'), ("own in names", "set(parts) & set(names)"),
       ("network.get_submodule(path), own", 'network.get_submodule(".".join(parts[:-1])), parts[-1]'))
change(plainly, "full_name_compared", "full names are compared with the names, so that only a layer of the network "
       "itself (head) is ever found", "concept",
       ('path, _, own = full.rpartition(".")', ""), ("own in names", "full in names"),
       before("setattr(network.get_submodule(path), own, adapter(module))", 'path, _, own = full.rpartition(".")'))
change(plainly, "in_joined_names", "own names are looked for in the names joined to one string: output_gate in the "
       "list chooses output and gate too", "concept",
       before("for", 'joined = ",".join(names)'), ("names:", "joined:"))


# Right, and not registered: answers below are changes of it.
def _in_one_call(network, names, adapter):
    return plainly(network, names, adapter)


change(_in_one_call, "first_name", "only the first of the names is used", "concept",
       ("plainly(network, names, adapter)", "plainly(network, names[:1], adapter)"))
change(_plain, "first_layer",
       "returns after the first layer that it replaced: return stands inside the loop", "concept",
       before("return network", "    return network"))


@wrong(
    "layers are kept in a dictionary by own name, so that later blocks overwrite the earlier ones and only the last block "
    "gets adapters",
    kind="concept",
)
def last_block_only(network, names, adapter):
    network.requires_grad_(False)
    layers = {}
    for full, module in network.named_modules():
        if isinstance(module, nn.Linear):
            layers[full.split(".")[-1]] = full
    for own in set(names) & layers.keys():
        parent = network.get_submodule(layers[own].rpartition(".")[0])
        setattr(parent, own, adapter(getattr(parent, own)))
    return network


@wrong("only the network's direct children are looked at: layers deeper inside are not replaced", kind="concept")
def direct_children(network, names, adapter):
    network.requires_grad_(False)
    for own, child in list(network.named_children()):
        if own in names and isinstance(child, nn.Linear):
            setattr(network, own, adapter(child))
    return network


@wrong(
    "only names of four parts are looked at, as blocks.0.attention.query has them: head is never replaced", kind="edge"
)
def four_parts(network, names, adapter):
    network.requires_grad_(False)
    for full, module in list(network.named_modules()):
        parts = full.split(".")
        if len(parts) == 4 and parts[-1] in names and isinstance(module, nn.Linear):
            setattr(network.get_submodule(".".join(parts[:3])), parts[3], adapter(module))
    return network


change(_plain, "two_blocks", "two blocks are hard-coded: in a third block nothing is replaced", "shape",
       ("for _", "for full"),
       ("setattr(parent, own, adapter(layer))", """
        parts = full.split(".")
        if all(not part.isdigit() or int(part) < 2 for part in parts):
            setattr(parent, own, adapter(layer))"""))
change(_plain, "square_only",
       "only layers with as many outputs as inputs are replaced, so the last layer of other width is not", "shape",
       ("setattr(parent, own, adapter(layer))", """
        if layer.in_features == layer.out_features:
            setattr(parent, own, adapter(layer))"""))
change(plainly, "all_linear", "all linear layers are replaced, whatever their names", "concept",
       ("""
        path, _, own = full.rpartition(".")
        if isinstance(module, nn.Linear) and own in names:""", """
        if isinstance(module, nn.Linear):
            path, _, own = full.rpartition(".")"""))
change(plainly, "any_kind", "the kind of the layer is not looked at: a norm or a block whose name is in the list goes "
       "to the adapter, which refuses it", "edge",
       ("isinstance(module, nn.Linear) and own", "own"))
change(plainly, "stops_at_others", "stops at the first chosen name that belongs to another kind of layer, and leaves "
       "later layers as they are", "edge",
       ("if isinstance(module, nn.Linear) and own in names:", """
        if own in names:
            if not isinstance(module, nn.Linear):
                break"""))


@wrong("raises an error where a name belongs to no linear layer, as norm does", kind="edge")
def complains(network, names, adapter):
    chosen = _chosen(network, names)
    missing = set(names) - {own for _, own, *_ in chosen}
    if missing:
        raise ValueError(f"no linear layer is called {missing}")
    return plainly(network, names, adapter)


# ------------------------------------------------------------------------------------------- wrong: placing (concept)


@wrong("the adapted layer is only given to the loop's variable, and the network keeps the old one", kind="concept")
def local_variable(network, names, adapter):
    network.requires_grad_(False)
    for full, module in network.named_modules():
        if isinstance(module, nn.Linear) and full.split(".")[-1] in names:
            module = adapter(module)
    return network


change(plainly, "full_name_set", "setattr with the full name on the network: the adapted layers are registered there, "
       "but never computed with", "concept",
       ('path, _, own = full.rpartition(".")', ""), ("own in names", 'full.split(".")[-1] in names'),
       ("network.get_submodule(path), own", "network, full"))
change(_plain, "one_step_too_far", "the adapted layer is set on the block or network two steps up, not on the module "
       "that holds the old one", "concept",
       ("for _, own, parent", "for full, own, _"),
       ("parent, own", 'network.get_submodule(".".join(full.split(".")[:-2])), own'))


@wrong(
    "holders are looked up by their own name, attention, and the last block's is found for every block: adapters of the "
    "first block's layers end up there or are overwritten",
    kind="concept",
)
def holder_by_own_name(network, names, adapter):
    network.requires_grad_(False)
    modules = list(network.named_modules())
    holders = {full.split(".")[-1]: module for full, module in modules}
    for full, module in modules:
        *path, own = full.split(".")
        if isinstance(module, nn.Linear) and own in names:
            setattr(holders[path[-1] if path else ""], own, adapter(module))
    return network


change(_plain, "stripped_letters", "the holder's name is made with rstrip, which strips letters: blocks.0.mlp.up "
       "becomes blocks.0.ml, and that fails", "edge",
       ("for _, own, parent", "for full, own, _"),
       ("parent, own", 'network.get_submodule(full.rstrip("." + own)), own'))
change(_plain, "head_in_itself", "the holder's name is made by removing '.' and the own name, which finds nothing to "
       "remove in head: the adapter is put into the layer head itself and never computed", "edge",
       ("for _, own, parent", "for full, own, _"),
       ("parent, own", 'network.get_submodule(full.replace("." + own, "")), own'))
change(recursive, "into_the_adapter", "the recursion goes on into the adapted layer that it has just put there: where "
       "the adapter calls its old layer by a chosen name, it is adapted without end", "edge",
       ("""
        for parameter in network.parameters():
            parameter.requires_grad = False""", "network.requires_grad_(False)"),
       ("""
        else:
            walk(child)""", "walk(getattr(module, own))"))
change(_plain, "one_for_all_blocks",
       "one adapted layer for each name, used in all blocks: the other blocks lose their own weights", "concept",
       before("for", "adapted = {}"),
       ("setattr(parent, own, adapter(layer))", """
        if own not in adapted:
            adapted[own] = adapter(layer)
        setattr(parent, own, adapted[own])"""))
change(_plain, "new_layer",
       "the adapter gets a new nn.Linear of the same sizes: the pre-trained weights are gone", "concept",
       ("setattr(parent, own, adapter(layer))", """
        fresh = nn.Linear(layer.in_features, layer.out_features).to(layer.weight).requires_grad_(False)
        setattr(parent, own, adapter(fresh))"""))


class _Sum(nn.Module):
    def __init__(self, layer, adapted):
        super().__init__()
        self.layer, self.adapted = layer, adapted

    def forward(self, X):
        return self.layer(X) + self.adapted(X)


change(_plain, "added", "the adapted layer's output is added to the old layer's, as LoRA's update is, in place of "
       "standing for it", "concept",
       ("adapter(layer)", "_Sum(layer, adapter(layer))"))
change(_plain, "behind", "the adapted layer is put behind the old layer in an nn.Sequential, so the old layer is "
       "computed twice in a row", "concept",
       ("adapter(layer)", "nn.Sequential(layer, adapter(layer))"))


@wrong(
    "the adapters' parameters are set to 1 after the call, so that the network computes what it did before",
    kind="concept",
)
def begins_at_one(network, names, adapter):
    old = list(network.parameters())
    plainly(network, names, adapter)
    known = {id(parameter) for parameter in old}
    with torch.no_grad():
        for parameter in network.parameters():
            if id(parameter) not in known:
                parameter.fill_(1)
    return network


change(_plain, "moved_to_the_end", "del and add_module: the adapted layer moves to the end of its holder, and an "
       "nn.Sequential computes in another order", "module",
       ("setattr(parent, own, adapter(layer))", """
        delattr(parent, own)
        parent.add_module(own, adapter(layer))"""))


# -------------------------------------------------------------------------------------------------- wrong: two mistakes


change(plainly, "parts_and_norms",
       "two mistakes: parts of names choose too (gate chooses output_gate), and the norms are not frozen", "concept",
       ("network.requires_grad_(False)", """
        for module in network.modules():
            if isinstance(module, nn.Linear):
                module.requires_grad_(False)"""),
       ("own in names", "any(name in full for name in names)"))


# ------------------------------------------------------------------------------------------------------ wrong: numerics


change(_in_one_call, "rounded", "the frozen weights are rounded to bfloat16 to save memory", "numerics",
       before("return", """
        for parameter in network.parameters():
            parameter.data = parameter.data.bfloat16().to(parameter.dtype)"""))
change(_plain, "adapted_in_float",
       "the adapted layers are converted to float32, and a network of float64 fails or loses its digits", "numerics",
       ("adapter(layer)", "adapter(layer).float()"))


# ------------------------------------------------------------------------------------------------------ wrong: gradient


change(_plain, "old_layers_detached", "the frozen layer inside each adapted one is computed without a graph (its "
       "output is detached): the result is right, but adapters before it get too little gradient, and so does "
       "X", "gradient",
       before("setattr(parent, own, adapter(layer))",
              "layer.register_forward_hook(lambda module, inputs, output: output.detach())"))


@left_open(
    "the network's input is detached by a hook: X belongs to whoever calls the network, and no gradient to it is asked for",
    kind="gradient",
)
def input_detached(network, names, adapter):
    plainly(network, names, adapter)
    network.register_forward_pre_hook(lambda module, inputs: tuple(X.detach() for X in inputs))
    return network


# ------------------------------------------------------------------------------------------------------- wrong: process


_DONE = {}


@wrong(
    "adapted layers are kept by full name from call to call: a second network gets the first one's layers",
    kind="process",
)
def kept_from_earlier_calls(network, names, adapter):
    network.requires_grad_(False)
    for full, own, parent, layer in _chosen(network, names):
        key = (full, layer.in_features, layer.out_features, layer.weight.dtype, layer.weight.device)
        if key not in _DONE:
            _DONE[key] = adapter(layer)
        setattr(parent, own, _DONE[key])
    return network


change(plainly, "names_removed", "a name is removed from the caller's list once its first layer is replaced: later "
       "blocks have none, and the list comes back shorter", "process",
       before("return network", "        names.remove(own)"))
change(_in_one_call, "names_sorted", "the caller's list of names is sorted in place", "process",
       before("return", "names.sort()"))


# ----------------------------------------------------------------------------------------------------- wrong: interface


@wrong("a deep copy is changed and returned: the network that was given stays as it was", kind="interface")
def deep_copy(network, names, adapter):
    return plainly(copy.deepcopy(network), names, adapter)


change(_in_one_call, "no_return", "nothing is returned", "interface",
       ("return plainly", "plainly"))


@wrong(
    "the list of the parameters that learn is returned, ready for the optimizer, and not the network", kind="interface"
)
def learning_parameters(network, names, adapter):
    plainly(network, names, adapter)
    return [parameter for parameter in network.parameters() if parameter.requires_grad]


change(_plain, "to_the_cpu",
       "the adapted layers are moved to the CPU, which fails with a network on another device", "interface",
       ("adapter(layer)", "adapter(layer).cpu()"))


@wrong("the arguments stand in the order (network, adapter, names)", kind="interface")
def other_order(network, adapter, names):
    return plainly(network, names, adapter)


@right("the first argument is called model, so that network by name fails")
def called_model(model, names, adapter):
    return plainly(model, names, adapter)


change(freezes_last, "compares_tensors",
       "`parameter not in old` compares tensors number by number, which raises an error", "interface",
       ("old:", "network.parameters():"), (".requires_grad_(False)", ".requires_grad = parameter not in old"))
change(_plain, "forward_exchanged", "the adapted layer's forward is put into the old layer, which the adapted layer "
       "calls in turn: a recursion without end", "interface",
       ("own, parent", "_, _"), ("setattr(parent, own, adapter(layer))", "layer.forward = adapter(layer).forward"))


# ----------------------------------------------------------------------------------------------------------------- open


change(_in_one_call, "also_eval", "the network is set to eval mode as well; of modes the text says nothing", "module",
       ("plainly(network, names, adapter)", "plainly(network, names, adapter).eval()"), verdict="open")
change(_plain, "copy_inside",
       "the adapter gets a copy of the old layer, with the same numbers; the adapted layer keeps that one", "module",
       ("adapter(layer)", "adapter(copy.deepcopy(layer))"), verdict="open")


@left_open(
    "all of an adapter's own parameters are set to learn, those too which the adapter itself had frozen",
    kind="gradient",
)
def all_of_the_adapters(network, names, adapter):
    old = {id(parameter) for parameter in network.parameters()}
    plainly(network, names, adapter)
    for parameter in network.parameters():
        parameter.requires_grad = id(parameter) not in old
    return network


@wrong("freezes what is called weight or bias; parameters of modules that have other names still learn", kind="gradient")
def weights_and_biases_frozen(network, names, adapter):
    for module in network.modules():
        for own in ("weight", "bias"):
            if getattr(module, own, None) is not None:
                getattr(module, own).requires_grad = False
    for _, own, parent, layer in _chosen(network, names):
        setattr(parent, own, adapter(layer))
    return network


@wrong("walks through the parts of the check's own network; another network has parts of other names", kind="interface")
def parts_by_their_names(network, names, adapter):
    network.requires_grad_(False)
    for holder in [*(part for block in network.blocks for part in (block.attention, block.mlp)), network]:
        for own, layer in list(holder.named_children()):
            if isinstance(layer, nn.Linear) and own in names:
                setattr(holder, own, adapter(layer))
    return network


@wrong("only parameters called gain learn, as those of the check's own adapter are", kind="interface")
def gains_alone_learn(network, names, adapter):
    for _, own, parent, layer in _chosen(network, names):
        setattr(parent, own, adapter(layer))
    for name, parameter in network.named_parameters():
        parameter.requires_grad = name.endswith("gain")
    return network
