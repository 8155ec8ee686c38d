"""Exercise: adapters in a network whose own weights are frozen. Here are the mistakes in what is frozen."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from utils.checking.records import Helper
from utils.checking.toy_networks import ToyNetwork, ToyTower

EACH = [name for names in ToyNetwork.LAYERS.values() for name in names]  # the linear layers of a block
OTHER = {*ToyTower.LAYERS["mix"], "3"}  # names by which a case asks for the network that has them


def _drawn(inputs, sizes, rng):
    """A network, and an adapter that multiplies outputs by factors far from 1, so that it shows wherever it is."""
    N, D, V, L = (sizes[name] for name in "NDVL")
    K = len(EACH)
    shapes = {"X": (N, D), "W": (L, K, D, D), "b": (L, K, D), "g": (L, D), "head": (V, D)}
    arrays = {name: rng.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    arrays["W"] *= D**-0.5
    arrays["g"] = rng.uniform(0.5, 1.5, (L, D)).astype("float32")
    gains = rng.uniform(1.5, 2.5, max(D, V)) * rng.choice([-1, 1], max(D, V))
    network, adapter = ("ToyTower", "ToyShift") if OTHER & {*inputs["names"]} else ("ToyNetwork", "ToyAdapter")
    return {"network": Helper(network, arrays), "adapter": Helper(adapter, {"gains": gains.astype("float32")})}


def _case(text, names, edge=False, N=4, D=5, V=7, L=2):
    return Case(text, values={"names": names}, sizes={"N": N, "D": D, "V": V, "L": L}, edge=edge)


@exercise(
    points=3,
    taught=("gradients",),  # what is frozen, and what learns
    section="Which layers get an adapter",
    source="Hu et al. 2022, LoRA, section 4.2: adapters at W_q and W_v, all else frozen; target_modules in PEFT",
    outputs="Y",
    formula="requires_grad = False for every parameter of the network; then each nn.Linear whose own name, the last part of its"
    " full name, is in names: adapter(layer) in its place. Y [N, V] = network(X) afterwards, for vectors X [N, D] of the check",
    cases=[
        _case("queries and values", ["query", "value"]),
        _case("a name with which another layer's ends", ["gate"], D=6, V=5),
        _case("a name with which another layer's begins", ["output"], N=3),
        _case("the network's last layer too", ["key", "head"], V=6),
        _case("three blocks", ["output_gate", "head"], N=5, D=4, V=6, L=3),
        _case("layers of the MLPs", ["down", "gate"], D=6),
        _case("a name that is a norm's", ["norm", "output_gate"], N=6, D=4, V=3),
        _case("one block", ["gate", "query"], L=1, edge=True),
        _case("all linear layers", [*EACH, "head"], edge=True),
        _case("names of what holds layers", ["attention", "0", "blocks", "down"]),
        _case("names that no linear layer has", ["norm", "q"], edge=True),
        _case("a name that a layer has inside of the adapter", ["layer", "key"], edge=True),
        _case("many names", ["up", "value", "norm", "output"], L=3, edge=True),
        _case("another network, another adapter", ["wq", "wo", "3"], edge=True),
        _case("another network, with numbers for names", ["1", "4", "wv", "mix", "steps"], D=6, V=5, L=1, edge=True),
    ],
    draws=_drawn,
)
def add_adapters(network: nn.Module, names: list[str], adapter: Callable) -> Float[Tensor, "N V"]:
    network.requires_grad_(False)
    for parent in list(network.modules()):
        for name, layer in parent.named_children():
            if name in names and isinstance(layer, nn.Linear):
                setattr(parent, name, adapter(layer))
    return network


def linear_layers(network):
    """Each linear layer with the module that holds it and its own name, in the order of named_modules."""
    full_names = [name.rpartition(".") for name, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    parents = [(network.get_submodule(path), name) for path, _, name in full_names]
    return [(parent, name, parent.get_submodule(name)) for parent, name in parents]


def adapt(network, adapter, is_chosen):
    """The network with adapters at the linear layers whose own names are chosen."""
    for parent, name, layer in linear_layers(network):
        if is_chosen(name):
            setattr(parent, name, adapter(layer))
    return network


@add_adapters.misconception
def nothing_frozen(network, names, adapter):
    """All weights of the network still learn. Freeze them before the adapters come in: requires_grad_(False) of the network
    sets them all. eval(), torch.no_grad() and an attribute that you set, network.requires_grad = False, freeze nothing."""
    return adapt(network, adapter, names.__contains__)


@add_adapters.misconception
def adapters_frozen(network, names, adapter):
    """No gradient reaches what the adapters bring along: they are frozen together with the network, or they do not stand
    themselves where the layers stood. Freeze the network's own parameters alone: before any adapter is put in, all that
    network.parameters() gives are its own."""
    return adapt(network, adapter, names.__contains__).requires_grad_(False)


@add_adapters.misconception
def chosen_layers_alone_frozen(network, names, adapter):
    """Only the weights of the adapted layers are frozen, and those of all other layers still learn. Freeze every parameter
    that the network has: only what the adapters bring along is to learn."""
    for _, name, layer in linear_layers(network):
        layer.requires_grad_(name not in names)
    return adapt(network, adapter, names.__contains__)


@add_adapters.misconception
def chosen_layers_not_frozen(network, names, adapter):
    """The weights of the adapted layers still learn, beside their adapters. An adapter learns in their place, so they are
    frozen as all others are."""
    for _, name, layer in linear_layers(network.requires_grad_(False)):
        layer.requires_grad_(name in names)
    return adapt(network, adapter, names.__contains__)


@add_adapters.misconception
def nothing_returned(network, names, adapter):
    """It returns None. Return the network: setattr and requires_grad_ change it in place, and whoever calls goes on with what
    comes back."""
    add_adapters.reference(network, names, adapter)


@add_adapters.alternative
def as_a_student(network, names, adapter):
    for parameter in network.parameters():
        parameter.requires_grad = False
    for full_name, layer in list(network.named_modules()):
        path, _, name = full_name.rpartition(".")
        if isinstance(layer, nn.Linear) and name in names:
            setattr(network.get_submodule(path), name, adapter(layer))
    return network


@add_adapters.alternative
def recursively(network, names, adapter):
    def replace(module):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear) and name in names:
                module._modules[name] = adapter(child)
            else:
                replace(child)

    network.requires_grad_(False)
    replace(network)
    return network


@add_adapters.alternative
def frozen_afterwards(network, names, adapter):
    own = list(network.parameters())
    full_names = [name for name, layer in network.named_modules() if type(layer) is nn.Linear]
    for full_name in full_names:
        if full_name.split(".")[-1] in names:
            network.set_submodule(full_name, adapter(network.get_submodule(full_name)))
    for parameter in own:
        parameter.requires_grad_(False)
    return network


@add_adapters.alternative
def by_apply(network, names, adapter):
    def adapt(module):
        for name in names:
            layer = getattr(module, name, None)
            if isinstance(layer, nn.Linear):
                setattr(module, name, adapter(layer))

    return network.requires_grad_(False).apply(adapt)


@add_adapters.alternative
def name_by_name(network, names, adapter):
    network.requires_grad_(False)
    for wanted in names:
        for full_name, layer in [*network.named_modules()]:
            if f".{full_name}".endswith(f".{wanted}") and hasattr(layer, "in_features"):
                parent = network
                for part in full_name.split(".")[:-1]:
                    parent = parent[int(part)] if part.isdigit() else getattr(parent, part)
                setattr(parent, wanted, adapter(layer))
    return network
