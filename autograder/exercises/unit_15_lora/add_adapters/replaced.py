"""Exercise add_adapters again: mistakes in which layers are replaced, and where the new ones go."""

from torch import nn

from autograder.exercises.unit_15_lora.add_adapters.declaration import adapt, add_adapters, linear_layers


def _by_part_of_name(name, matches):
    def made(network, names, adapter):
        """Layers are adapted whose names merely contain a chosen name: output_gate where output is asked for, or gate. Compare
        whole names: the last part of the full name, behind its last dot, has to be one of names."""
        return adapt(network.requires_grad_(False), adapter, lambda own: any(matches(own, one) for one in names))

    made.__name__ = name
    return made


for _name, _matches in (("names_contained", str.__contains__), ("ends_of_names", str.endswith)):
    add_adapters.misconception(_by_part_of_name(_name, _matches))


@add_adapters.misconception
def parts_of_chosen_names(network, names, adapter):
    """Layers are adapted whose names are merely a part of a chosen one: output, or gate, where output_gate is asked for. Between
    two strings `in` looks for a part: write `name in names`, where names is the list, and not one of its names or a string of
    them all."""
    return adapt(network.requires_grad_(False), adapter, lambda own: any(own in one for one in names))


@add_adapters.misconception(universal=True)
def all_linear_layers_adapted(network, names, adapter):
    """Every linear layer is adapted, whatever its name. Only those are to be whose own name is one of names; the others stay
    as they are, frozen."""
    return adapt(network.requires_grad_(False), adapter, lambda own: True)


@add_adapters.misconception
def other_layers_adapted(network, names, adapter):
    """The adapter was given a layer that is not linear: a norm has a chosen name too. Ask isinstance(layer, nn.Linear) as
    well, and leave layers of other kinds as they are."""
    network.requires_grad_(False)
    for parent in list(network.modules()):
        for name, layer in parent.named_children():
            if name in names:
                setattr(parent, name, adapter(layer))
    return network


@add_adapters.misconception
def any_part_of_the_full_name(network, names, adapter):
    """Any part of the full name counted: attention adapts all linear layers inside of it, and 0 those of the first block. The own
    name is the last part alone."""
    for full, layer in list(network.requires_grad_(False).named_modules()):
        path, _, name = full.rpartition(".")
        if isinstance(layer, nn.Linear) and {*full.split(".")} & {*names}:
            setattr(network.get_submodule(path), name, adapter(layer))
    return network


class _Both(nn.Module):
    """The old layer, and the new one, whose results are added."""

    def __init__(self, layer, adapted):
        super().__init__()
        self.layer, self.adapted = layer, adapted

    def forward(self, X):
        return self.layer(X) + self.adapted(X)


@add_adapters.misconception
def added_to_the_layer(network, names, adapter):
    """What adapter(layer) gives is added to what the layer gives. adapter(layer) computes the layer itself, too, so it should
    stand in the layer's place, alone."""
    return adapt(network.requires_grad_(False), lambda layer: _Both(layer, adapter(layer)), names.__contains__)


@add_adapters.misconception
def behind_the_layer(network, names, adapter):
    """adapter(layer) stands behind the layer, as in nn.Sequential(layer, adapter(layer)), so that the layer computes twice.
    adapter(layer) contains the layer and should stand in its place, alone."""
    chained = lambda layer: nn.Sequential(layer, adapter(layer))  # noqa: E731
    return adapt(network.requires_grad_(False), chained, names.__contains__)


@add_adapters.misconception
def top_level_alone(network, names, adapter):
    """Inside of the blocks there are no adapters, at most in layers that the network itself holds, such as head.
    named_children() goes one level deep; of the full names that named_modules() gives the last part counts; and setattr needs
    the module that holds the layer, network.get_submodule(…)."""
    return _adapt_top(network.requires_grad_(False), names, adapter)


@add_adapters.misconception
def not_in_the_network(network, names, adapter):
    """The network computes what it did before: no adapter takes part in it. A loop's variable, a list or a copy is another
    place. Put the new layer where the old one was: setattr(…) with the module that holds it, the own name and the new layer."""
    for _, name, layer in linear_layers(network.requires_grad_(False)):
        if name in names:
            layer = adapter(layer)
    return network


def _adapt_top(network, names, adapter):
    if "head" in names:
        network.head = adapter(network.head)
    return network


def _parts_alone(*parts):
    def made(network, names, adapter):
        """Chosen layers in a part of the network compute without an adapter: head, which is in no block, or those of the MLPs. A
        name may choose any layer, whatever its place and shape. Make sure that all modules are gone through, as by
        network.named_modules(), that no other condition leaves some out, and that each new layer is put in the old one's
        place."""
        for block in network.requires_grad_(False).blocks:
            for part in parts:
                adapt(block.get_submodule(part), adapter, names.__contains__)
        return network

    made.__name__ = f"{'_and_'.join(parts)}_alone"
    return made


for _parts in (("attention", "mlp"), ("attention",)):
    add_adapters.misconception(universal=True)(_parts_alone(*_parts))


@add_adapters.misconception
def first_block_alone(network, names, adapter):
    """Of all blocks only the first has adapters. A name occurs once in each block, so look through all of them: a loop must
    not end (return, break, next) at the first layer of a name."""
    adapt(network.requires_grad_(False).blocks[0], adapter, names.__contains__)
    return _adapt_top(network, names, adapter)


@add_adapters.misconception
def last_block_alone(network, names, adapter):
    """Of all blocks only the last has adapters. A name occurs once in each block: in a dict whose keys are own names, each
    layer overwrites the one before."""
    adapt(network.requires_grad_(False).blocks[-1], adapter, names.__contains__)
    return _adapt_top(network, names, adapter)


@add_adapters.misconception
def first_layer_alone(network, names, adapter):
    """Only the first of the chosen layers has an adapter. The loop has to go on after it: return stands behind the loop, not
    inside of it."""
    chosen = [one for one in linear_layers(network.requires_grad_(False)) if one[1] in names]
    for parent, name, layer in chosen[:1]:
        setattr(parent, name, adapter(layer))
    return network


@add_adapters.misconception
def one_adapter_for_all(network, names, adapter):
    """The same adapted layer, that of the first chosen one, stands in every place, and so its weights do too. Call
    adapter(layer) anew for each layer, with the layer that was there."""
    chosen = [one for one in linear_layers(network.requires_grad_(False)) if one[1] in names]
    shared = adapter(chosen[0][2])
    for parent, name, _ in chosen:
        setattr(parent, name, shared)
    return network


@add_adapters.misconception
def one_adapter_for_all_blocks(network, names, adapter):
    """Layers of one name share a single adapted layer, so that all blocks compute with the weights of one. Call adapter once for
    each layer that is replaced, with that layer."""
    made = {}
    for parent, name, layer in linear_layers(network.requires_grad_(False)):
        if name in names:
            made[name] = made.get(name) or adapter(layer)
            setattr(parent, name, made[name])
    return network


@add_adapters.misconception
def first_name_alone(network, names, adapter):
    """Of the names, only the first was looked for. Every linear layer whose own name is one of `names` gets an adapter."""
    return adapt(network.requires_grad_(False), adapter, lambda name: name in names[:1])
