"""The order and attributes that REFI-QDA asks of the elements we write, for where the schemas are not at hand."""

import re

from lxml import etree

GUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MADE = "creatingUser creationDateTime"

CHILDREN = {
    "Project": "Users CodeBook Variables Sources Notes Sets Description NoteRef*",
    "Users": "User+",
    "CodeBook": "Codes Sets",
    "Codes": "Code+",
    "Code": "Description NoteRef* Code*",
    "Variables": "Variable+",
    "Sources": "TextSource+",
    "TextSource": "Description PlainTextContent PlainTextSelection* Coding* NoteRef* VariableValue*",
    "PlainTextSelection": "Description Coding* NoteRef*",
    "Coding": "CodeRef NoteRef*",
    "VariableValue": "VariableRef TextValue",
    "Notes": "Note+",
    "Note": "Description PlainTextContent",
    "Sets": "Set+",
    "Set": "Description MemberCode* MemberSource* MemberNote*",
}
ATTRIBUTES = {
    "Project": "name! origin creatingUserGUID creationDateTime",
    "CodeBook": "origin",
    "User": "guid! name id",
    "Code": "guid! name! isCodable! color",
    "Variable": "guid! name! typeOfVariable!",
    "TextSource": f"guid! name plainTextPath {MADE}",
    "PlainTextSelection": f"guid! name startPosition! endPosition! {MADE}",
    "Coding": f"guid! {MADE}",
    "Note": f"guid! name plainTextPath {MADE}",
    "Set": "guid! name!",
    **dict.fromkeys(["NoteRef", "CodeRef", "VariableRef", "MemberSource", "MemberNote"], "targetGUID!"),
    "MemberCode": "targetGUID guid",
}


def find_breaches(document):
    """What breaks the order, the number or the attributes of elements."""
    return [breach for element in etree.fromstring(document).iter() for breach in _find_in(element)]


def _find_in(element):
    tag = etree.QName(element).localname
    breaches = []
    pattern = "".join(
        f"(?:{name.rstrip('*+')} ){name[-1] if name[-1] in '*+' else '?'}" for name in CHILDREN.get(tag, "").split()
    )
    children = "".join(f"{etree.QName(child).localname} " for child in element)
    if not re.fullmatch(pattern, children):
        breaches.append(f"{tag} holds {children}")
    allowed = ATTRIBUTES.get(tag, "").split()
    values = {str(name): str(value) for name, value in element.attrib.items()}
    breaches += [f"{tag} without {name[:-1]}" for name in allowed if name[-1] == "!" and name[:-1] not in values]
    breaches += [f"{tag} with {name}" for name in values.keys() - {name.rstrip("!") for name in allowed}]
    for name, value in values.items():
        if name.lower().endswith(("guid", "creatinguser")) and not GUID.fullmatch(value):
            breaches.append(f"{tag} with {name} {value!r}")
    return breaches
