"""Whether a query looks personal: then an admin looks at it before raters do. A wrong alarm costs only a look."""

import re

EMAIL = "an e-mail address"
CARD = "the number of a card"
PHONE = "a phone number"
NAME = "a name with a number"

# No repeat without a bound, of which the time would grow with the square: a query may have 20,000 characters.
_email = re.compile(r"[^\s@](?:@|\s?\(at\)\s?|\[at\])[^\s@]{1,253}\.[^\s@]{2}")
_digits = re.compile(r"(?<![\w.])[0-9](?:[ .-]?[0-9]){12,18}(?![\w.]?[0-9])")
# A phone begins with +, 00, 0 or an area code in brackets, or is parted as in North America.
_phone = re.compile(
    r"(?<![\w.,])(?:(?:\+|00)[1-9](?:[ ./()-]{0,2}[0-9]){7,13}|\(?0[1-9](?:[ ./()-]{0,2}[0-9]){6,12}"
    r"|\(?[2-9][0-9]{2}\)?[ .-][0-9]{3}[ .-][0-9]{4})(?![0-9])"
)
_long_number = re.compile(r"(?<![0-9])[0-9]{4,}(?![0-9])")
_word = re.compile(r"[^\W\d_]{2,}")
_year_or_unit = re.compile(r"(?:19|20)[0-9]{2}")
# First names that are common where people search in English, German, French, Spanish and Italian.
_NAMES = """
    aaron adam adrian alan albert alex alexander alice amanda amy ana anders andrea andreas andrew angela anita
    ann anna anne anthony antonio barbara ben benjamin bernd bernhard brandon brian carla carlos carmen carol
    caroline catherine charles charlotte chris christian christina christine christoph christopher claire
    claudia daniel david deborah dennis diana dieter donald doris dorothy edward elena elisabeth elizabeth emily
    emma eric erik eva fabian florian frank franz françois gabriel george gerhard giovanni giulia giuseppe hans
    heather heike heinz helen helga helmut ingrid isabel jack jacob james jan jane javier jean jennifer jens
    jessica joan joe johannes john jonathan jorge jose josé josef joseph joshua juan judith julia jürgen karen
    karin karl katharina katherine kathleen keith kenneth kevin klaus lars laura lea linda lisa louis lucas luis
    luke manfred manuel marco margaret maria marie mario mark markus martin martina matthew matthias max
    maximilian megan michael michel michelle miguel monika nancy nathalie nicholas nicole nina oliver olivia
    pamela patricia patrick paul paula pedro peter petra philip philippe pierre rachel rafael ralf raymond
    rebecca renate richard robert roberto roger roland ronald ruth ryan sabine samuel sandra sara sarah scott
    sebastian silvia simon sofia sophie stefan stefanie stephanie stephen steven susan susanne sylvia teresa
    thomas timothy tobias tyler ulrich ursula uwe valerie vanessa victoria walter werner william wolfgang yvonne
    zachary
"""
FIRST_NAMES = frozenset(_NAMES.split())


def looks_personal(text: str) -> str:
    """What the query looks like, as "an e-mail address"; "" if it does not look personal."""
    if _email.search(text):
        return EMAIL
    if any(_is_card(found[0]) for found in _digits.finditer(text)):
        return CARD
    if _phone.search(text):
        return PHONE
    return NAME if _has_name_and_number(text) else ""


def _is_card(text: str) -> bool:
    """Whether its digits pass the check of Luhn, as those of payment cards do."""
    digits = [int(character) for character in text if character.isdecimal()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return digits[0] != 0 and (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _has_name_and_number(text: str) -> bool:
    """Whether a first name with another word stands beside a number of at least four digits that is no year."""
    numbers = [number for number in _long_number.findall(text) if not _year_or_unit.fullmatch(number)]
    words = _word.findall(text)
    names = {word for word in words if word.lower() in FIRST_NAMES}
    return bool(numbers and names and len(words) > 1)
