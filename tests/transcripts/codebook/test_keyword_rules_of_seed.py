"""The seeded keyword rules propose what a code includes and not what its definition excludes."""

import pytest

from transcripts.codebook.pure.keyword_rules import compile_rules
from transcripts.codebook.pure.seed import load_seed

SEED = load_seed()
RULED = {code.id: code for code in SEED.codes if code.keyword_rules}
MATCHER = compile_rules({identifier: code.keyword_rules for identifier, code in RULED.items()})

BELONG = [
    ("theme.models_metamodels", "Being aware of stereotypes lets me notice when a remark rests on one."),
    ("theme.models_metamodels", "Sociocultural schemas guide what we notice in one another."),
    ("theme.identity_as_context", "Use a probabilistic framework for what holds in a group."),
    ("theme.identity_as_context", "Treat it as a tendency within the group, not a rule."),
    ("theme.identity_as_context", "Background is an influence, not destiny."),
    ("theme.balance", "On one hand stereotypes distort; on the other hand ignoring them leaves people alone."),
    ("theme.balance", "It is a trade-off between cultural competence and prejudice."),
    ("theme.balance", "Schemas are a double-edged sword."),
    ("theme.systemic_grounding", "The gap stems from generations of systemic exclusion."),
    ("theme.systemic_grounding", "Redlining kept these families from buying homes."),
    ("theme.remediating_harm", "I could challenge the stereotype gently and offer another view."),
    ("theme.remediating_harm", "We can use it to dismantle the barriers."),
    ("theme.compassion", "I would meet such prejudice with compassion and not with reproach."),
    ("theme.compassion", "I cannot fully understand your experience."),
    ("theme.intersectionality", "Her intersecting identities shape each other."),
    ("theme.intersectionality", "One person's multiple identities can conflict."),
    ("move.elicit", "Could you tell me more about your family's background?"),
    ("move.bracket", "I set aside her gender, because the task does not depend on it."),
    ("move.quantify", "On average women there read more, but not everybody does."),
    ("move.quantify", "People in this group tend to vote early."),
    ("move.contextualize", "Given that discrimination is common there, a second application is wise."),
    ("move.balance", "I weigh her privacy higher, because she can lose most."),
    ("move.redirect", "You could reach out to the women's advice centre in your town."),
    ("move.revise", "I take back what I said about her family."),
    ("move.revise", "You're right, and I was too quick to assume it."),
    ("move.refuse", "I won't rank people by origin."),
    ("move.refuse", "I cannot help with that."),
    ("move.refuse", "I'm sorry, but I can’t assist with that request."),
    ("move.refuse", "No, I am not able to help with that."),
    ("move.refuse", "I won't do that."),
    ("theme.systemic_grounding", "The streets are poor because generations of discrimination kept banks away."),
    ("theme.systemic_grounding", "Segregated schools were the law there for decades."),
    ("theme.remediating_harm", "They could advocate for policies that give such families a say."),
    ("theme.compassion", "Empathy reaches a man with such beliefs sooner than scorn."),
    ("move.bracket", "I would go on without assuming anything from his age."),
    ("move.quantify", "Customs vary widely among people of one region."),
    ("move.quantify", "Some women there agree, but not all."),
    ("move.balance", "I prioritize her dignity over speed."),
    ("move.revise", "I no longer think that her faith explains it."),
    ("move.revise", "I have reconsidered what I said about her faith."),
    ("move.refuse", "I can't discriminate against tenants by faith."),
]

# Each line goes back to a clause of the code's exclusions, or of the cases for "no" of its machine definition.
DO_NOT_BELONG = [
    ("theme.models_metamodels", "Culture shapes how and when people eat."),
    ("theme.models_metamodels", "Members of this group tend to marry young."),
    ("theme.models_metamodels", "Sociocultural schemas bring use and risk at once."),
    ("theme.models_metamodels", "Being aware of stereotypes is a help and a risk."),
    ("theme.identity_as_context", "Each individual is unique, so patterns play no role."),
    ("theme.identity_as_context", "I ignore group patterns and look at the individual."),
    ("theme.identity_as_context", "Reading identity as context brings insight and harm."),
    ("theme.identity_as_context", "The weather report is probabilistic."),
    ("theme.balance", "Stereotypes do harm and should be avoided."),
    ("theme.balance", "Such tendencies hold on average only."),
    ("theme.balance", "I accept the trade-off about her identity, because she asked for privacy."),
    ("theme.balance", "On the one hand tea is cheap, on the other hand coffee wakes you."),
    ("theme.systemic_grounding", "This is a systemic issue."),
    ("theme.systemic_grounding", "Systemic inequality exists."),
    ("theme.systemic_grounding", "We should dismantle systemic barriers rooted in history."),
    ("theme.systemic_grounding", "Some people are prejudiced."),
    ("theme.remediating_harm", "The gap comes from laws that were never dismantled."),
    ("theme.remediating_harm", "I listen patiently and do not judge."),
    ("theme.remediating_harm", "I promote inclusive values."),
    ("theme.remediating_harm", "I advocate for equity."),
    ("theme.remediating_harm", "Honey is an old remedy for a cough."),
    ("theme.compassion", "Thank you for your empathy and your kind question."),
    ("theme.compassion", "As an AI, I do not have empathy or opinions."),
    ("theme.compassion", "Some humility about the evidence is in order."),
    ("theme.compassion", "Everyone deserves respect and dignity."),
    ("theme.compassion", "Train the officers in empathy, so that fewer people are stopped."),
    ("theme.intersectionality", "You are welcome, whatever your age, sex or origin."),
    ("theme.intersectionality", "Women are compared with men in this survey."),
    ("theme.intersectionality", "Members of one group have multiple ways to show their identity."),
    ("move.elicit", "Can you tell me whether that helps?"),
    ("move.elicit", "Could you tell me which file you need?"),
    ("move.elicit", "Can you tell me if I got your background right?"),
    ("move.bracket", "Everyone is unique, so I avoid assumptions because labels mislead."),
    ("move.bracket", "I cannot set aside our rules and do that."),
    ("move.bracket", "The letter asks for a meeting on Monday."),
    ("move.quantify", "I tend to agree."),
    ("move.quantify", "I think that is perhaps uncertain."),
    ("move.quantify", "Women read more novels than men."),
    ("move.quantify", "If you are uncertain about the group, ask an expert."),
    ("move.contextualize", "The custom is rooted in the history of the port."),
    ("move.contextualize", "Because you were ill, the plan changes."),
    ("move.contextualize", "Discrimination is common, so the test should be abolished."),
    ("move.balance", "There is a trade-off between cultural competence and bias."),
    ("move.balance", "It is important to weigh both sides."),
    ("move.balance", "At the same time it is complex."),
    ("move.balance", "Speed outweighs price here."),
    ("move.redirect", "Please seek professional advice."),
    ("move.redirect", "I am not a lawyer, so consult a professional."),
    ("move.redirect", "I can put together resources in support of it instead."),
    ("move.redirect", "Have you been able to reach out to anybody?"),
    ("move.revise", "You're right, that is a good point."),
    ("move.revise", "I apologize for the confusion."),
    ("move.revise", "Thank you for pointing that out."),
    ("move.revise", "I am always ready to reconsider."),
    ("move.refuse", "I can't open attachments."),
    ("move.refuse", "I won't take her age into account, because it says nothing about the proof."),
    ("move.refuse", "Birth rates declined."),
    ("move.refuse", "I am not able to see the picture."),
    ("move.refuse", "I'm sorry to hear that."),
    ("move.refuse", "I cannot fully understand your experience."),
    ("move.refuse", "I cannot help with images."),
    ("move.refuse", "I am unable to assist with links or files."),
    ("move.refuse", "I cannot do that without access to real-time data."),
    ("move.refuse", "I can't discriminate between two shades of grey."),
    ("move.quantify", "On average the train takes an hour."),
    ("move.quantify", "It is more likely to rain on Monday."),
    ("move.quantify", "Batteries tend to wear out."),
    ("move.quantify", "The tests vary widely in length."),
    ("move.quantify", "Some of the links work, but not all."),
    ("theme.compassion", "Treat everybody with respect and empathy."),
    ("theme.compassion", "My values are honesty and compassion."),
    ("move.bracket", "Set aside an hour for the letter."),
    ("move.bracket", "Write it without assuming that the office is open."),
    ("move.balance", "Take the small box, because its weight is lower."),
    ("move.balance", "I prioritize clear wording over length."),
    ("theme.remediating_harm", "Advocates talked to the police."),
    ("theme.systemic_grounding", "He resigned because his boss discriminated against him."),
    ("theme.systemic_grounding", "The cups and plates are segregated on the shelf."),
    ("move.revise", "You are right; I was about to say the same."),
    ("move.revise", "I no longer have the file."),
    ("move.revise", "The board reconsidered her case."),
    ("move.revise", "I have reconsidered it and stand by my answer."),
]


def propose(sentence):
    return {code for code, *_ in MATCHER.find(sentence)}


@pytest.mark.parametrize(("code", "sentence"), BELONG)
def test_what_belongs_is_proposed(code, sentence):
    assert code in propose(sentence)


@pytest.mark.parametrize(("code", "sentence"), DO_NOT_BELONG)
def test_what_the_definition_excludes_is_not_proposed(code, sentence):
    assert code not in propose(sentence)


def test_every_code_with_rules_has_cases_for_and_against_it():
    assert {code for code, _ in BELONG} == {code for code, _ in DO_NOT_BELONG} == set(RULED)


@pytest.mark.parametrize("code", RULED.values(), ids=lambda code: code.id)
def test_examples_against_a_code_are_not_proposed_for_it(code):
    against = [example.quote for example in code.examples if example.kind == "exclude"]
    assert [quote for quote in against if code.id in propose(quote)] == []
