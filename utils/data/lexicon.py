"""The words of the translation data: English, French, Italian and Spanish side by side, with what agreement needs."""

from dataclasses import dataclass

LANGUAGES = ("french", "italian", "spanish")


@dataclass(frozen=True)
class Noun:
    """A noun: (singular, plural) in English; (gender, singular, plural) in each other language; its class."""

    english: tuple[str, str]
    kind: str  # "person", "thing", "text", "place", "area", or "food" and "drink", which are not counted
    french: tuple[str, str, str]
    italian: tuple[str, str, str]
    spanish: tuple[str, str, str]


@dataclass(frozen=True)
class Adjective:
    """An adjective: forms by gender and number (ms, fs, mp, fp).

    `before` names the languages that put it before a noun; `never` the English nouns that it is not said of, though their
    kind would fit, since another language would take it for something else.
    """

    english: str
    french: tuple[str, ...]
    italian: tuple[str, ...]
    spanish: tuple[str, ...]
    group: str
    kinds: tuple[str, ...]
    before: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verb:
    """A verb: base, third person, -ing form and participle in English; else see below.

    The other languages: the present of I, you, he, we and they, the gerund, the participle without its ending.
    """

    english: tuple[str, str, str, str]
    objects: tuple[str, ...]
    french: tuple[str, ...]
    italian: tuple[str, ...]
    spanish: tuple[str, ...]


def _noun(english: str, kind: str, french: str, italian: str, spanish: str) -> Noun:
    singular, _, plural = english.partition(" ")
    tables = [tuple((table + " -").split()[:3]) for table in (french, italian, spanish)]
    return Noun((singular, plural or singular + "s"), kind, *tables)


def _adjective(english: str, french: str, italian: str, spanish: str, **more) -> Adjective:
    return Adjective(english, *(tuple(forms.split()) for forms in (french, italian, spanish)), **more)


def _verb(english: str, objects: str, french: str, italian: str, spanish: str) -> Verb:
    return Verb(*(tuple(forms.split()) for forms in (english, objects, french, italian, spanish)))


NOUNS = (
    _noun("child children", "person", "m enfant enfants", "m bambino bambini", "m niño niños"),
    _noun("friend", "person", "m ami amis", "m amico amici", "m amigo amigos"),
    _noun("woman women", "person", "f femme femmes", "f donna donne", "f mujer mujeres"),
    _noun("man men", "person", "m homme hommes", "m uomo uomini", "m hombre hombres"),
    _noun("student", "person", "m étudiant étudiants", "m studente studenti", "m estudiante estudiantes"),
    _noun("sky skies", "thing", "m ciel cieux", "m cielo cieli", "m cielo cielos"),
    _noun("house", "thing", "f maison maisons", "f casa case", "f casa casas"),
    _noun("tree", "thing", "m arbre arbres", "m albero alberi", "m árbol árboles"),
    _noun("boat", "thing", "m bateau bateaux", "f barca barche", "m barco barcos"),
    _noun("mirror", "thing", "m miroir miroirs", "m specchio specchi", "m espejo espejos"),
    _noun("agreement", "text", "m accord accords", "m accordo accordi", "m acuerdo acuerdos"),
    _noun("letter", "text", "f lettre lettres", "f lettera lettere", "f carta cartas"),
    _noun("book", "text", "m livre livres", "m libro libri", "m libro libros"),
    _noun("bread", "food", "m pain", "m pane", "m pan"),
    _noun("water", "drink", "f eau", "f acqua", "f agua"),
    _noun("cheese", "food", "m fromage", "m formaggio", "m queso"),
    _noun("garden", "place", "m jardin jardins", "m giardino giardini", "m jardín jardines"),
    _noun("school", "place", "f école écoles", "f scuola scuole", "f escuela escuelas"),
    _noun("square", "place", "f place places", "f piazza piazze", "f plaza plazas"),
    _noun("area", "area", "f zone zones", "m spazio spazi", "m espacio espacios"),
)

_ANY = ("person", "thing", "text", "place")
_OBJECTS = ("thing", "text", "place")
ADJECTIVES = (  # in the order in which English puts them; of each group a noun takes one at most
    _adjective("small", "petit petite petits petites", "piccolo piccola piccoli piccole",
               "pequeño pequeña pequeños pequeñas", group="size", kinds=_ANY, before=("french", "italian"),
               never=("friend",)),  # in French that would be a boyfriend
    _adjective("big", "grand grande grands grandes", "grande grande grandi grandi", "grande grande grandes grandes",
               group="size", kinds=(*_OBJECTS, "area"), before=("french",)),
    _adjective("young", "jeune jeune jeunes jeunes", "giovane giovane giovani giovani", "joven joven jóvenes jóvenes",
               group="size", kinds=("person",), before=("french", "italian")),
    _adjective("modern", "moderne moderne modernes modernes", "moderno moderna moderni moderne",
               "moderno moderna modernos modernas", group="age", kinds=(*_OBJECTS, "area")),
    _adjective("red", "rouge rouge rouges rouges", "rosso rossa rossi rosse", "rojo roja rojos rojas",
               group="colour", kinds=_OBJECTS),
    _adjective("blue", "bleu bleue bleus bleues", "azzurro azzurra azzurri azzurre", "azul azul azules azules",
               group="colour", kinds=_OBJECTS),
    _adjective("black", "noir noire noirs noires", "nero nera neri nere", "negro negra negros negras",
               group="colour", kinds=_OBJECTS),
    _adjective("European", "européen européenne européens européennes", "europeo europea europei europee",
               "europeo europea europeos europeas", group="origin", kinds=("person", "text", "area")),
    _adjective("economic", "économique économique économiques économiques",
               "economico economica economici economiche", "económico económica económicos económicas",
               group="topic", kinds=("text", "area"),
               never=("letter", "book")),  # in Italian and Spanish they would be cheap
)  # fmt: skip

VERBS = (  # one that is not said in progress has a dash in the place of its -ing form
    _verb("see sees - seen", "person thing text place", "vois vois voit voyons voient - vu",
          "vedo vedi vede vediamo vedono - vist", "veo ves ve vemos ven - vist"),
    _verb("find finds - found", "person thing text", "trouve trouves trouve trouvons trouvent - trouvé",
          "trovo trovi trova troviamo trovano - trovat",
          "encuentro encuentras encuentra encontramos encuentran - encontrad"),
    _verb("love loves - loved", "person thing", "aime aimes aime aimons aiment - aimé",
          "amo ami ama amiamo amano - amat", "amo amas ama amamos aman - amad"),
    _verb("eat eats eating eaten", "food", "mange manges mange mangeons mangent - mangé",
          "mangio mangi mangia mangiamo mangiano mangiando mangiat", "como comes come comemos comen comiendo comid"),
    _verb("drink drinks drinking drunk", "drink", "bois bois boit buvons boivent - bu",
          "bevo bevi beve beviamo bevono bevendo bevut", "bebo bebes bebe bebemos beben bebiendo bebid"),
    _verb("buy buys buying bought", "thing text food drink", "achète achètes achète achetons achètent - acheté",
          "compro compri compra compriamo comprano comprando comprat",
          "compro compras compra compramos compran comprando comprad"),
    _verb("read reads reading read", "text", "lis lis lit lisons lisent - lu",
          "leggo leggi legge leggiamo leggono leggendo lett", "leo lees lee leemos leen leyendo leíd"),
    _verb("sign signs signing signed", "text", "signe signes signe signons signent - signé",
          "firmo firmi firma firmiamo firmano firmando firmat", "firmo firmas firma firmamos firman firmando firmad"),
)  # fmt: skip

# by person: I, you, he, she, we, they
PRONOUNS = {
    "english": ("I", "you", "he", "she", "we", "they"),
    "french": ("je", "tu", "il", "elle", "nous", "ils"),
}
FORM = (0, 1, 2, 2, 3, 4)  # which of a verb's present forms a person takes
CLITICS = {  # objects: him, her and them
    "english": ("him", "her", "them"),
    "french": ("le", "la", "les"),
    "italian": ("lo", "la", "li"),
    "spanish": ("lo", "la", "los"),
}

BE = {  # what a progressive, a description and a past passive are made with
    "english": {"am": ("am", "are", "is", "are", "are"), "was": ("was", "were")},
    "french": {"is": ("est", "sont"), "was": ("a été", "ont été")},
    "italian": {"am": ("sto", "stai", "sta", "stiamo", "stanno"), "is": ("è", "sono")},
    "spanish": {"am": ("estoy", "estás", "está", "estamos", "están"), "is": ("es", "son"), "was": ("fue", "fueron")},
}
ENDINGS = {"french": ("", "e", "s", "es"), "italian": ("o", "a", "i", "e"), "spanish": ("o", "a", "os", "as")}

MONTHS = (("March", "mars", "marzo", "marzo"), ("May", "mai", "maggio", "mayo"), ("August", "août", "agosto", "agosto"))
YEARS = ("1945", "1992", "2015", "2017")
ADVERBS = (("often", "souvent", "spesso", "a menudo"), ("always", "toujours", "sempre", "siempre"))
NUMBERS = (("two", "deux", "due", "dos"), ("three", "trois", "tre", "tres"))
PREPOSITIONS = (
    ("in", "dans", "in", "en"),
    ("on", "sur", "su", "sobre"),
    ("with", "avec", "con", "con"),
    ("of", "de", "di", "de"),
)
CONJUNCTIONS = (
    ("and", "et", "e", "y"),
    ("but", "mais", "ma", "pero"),
    ("because", "parce que", "perché", "porque"),
    ("while", "tandis que", "mentre", "mientras"),
)


def in_language(entry: tuple[str, ...], language: str) -> str:
    """The text of an (English, French, Italian, Spanish) entry."""
    return entry[("english", *LANGUAGES).index(language)]
