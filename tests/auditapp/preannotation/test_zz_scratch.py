import time, uuid
import pytest
from django.utils import timezone
from auditapp.batches.models import Arm, Batch, Cell
from tests.auditapp.preannotation.panel_cast import *
from tests.transcripts.coding.desk_cast import *
from transcripts.corpus.models import Sentence
from tests.transcripts.coding.test_page import import_long

def test_speed(project, interview, owner, coder, second_coder):
    longer = import_long(project, owner, sentences=2000)
    show_all(project)
    said = list(Sentence.objects.select_related("turn__interview").filter(turn__interview=longer, turn__role="model"))
    anns = [add_annotator(project, n) for n in ("a","b","c")]
    for a in anns: read(a, said[5], ["theme.balance"])
    r = add_annotator(project, "rules", kind="rules")
    for _ in range(3): read_offline(r, said[5], [])
    for who in (coder, second_coder): decide(said[5], who)
    look(said[5], coder)
    def clock():
        t=[]
        for _ in range(5):
            b=time.perf_counter(); look(said[5], coder); t.append(time.perf_counter()-b)
        return 1000*sorted(t)[2]
    print("few", clock())
    b = Batch.objects.bulk_create([Batch(project=project, kind="preannotation", title="x", created_at=timezone.now(), launched_by_name="x") for _ in range(500)])
    b = list(Batch.objects.order_by("-pk")[:500])
    arms=[Arm(batch=x, variant=a.variant, task="themes", system_prompt="x"*8000, prompt_hash=uuid.uuid4().hex, settings={"annotator":a.pk,"codes":["theme.balance"]*30}) for x in b for a in anns]
    Arm.objects.bulk_create(arms)
    arms=list(Arm.objects.order_by("-pk")[:1500])
    Cell.objects.bulk_create([Cell(batch_id=a.batch_id, arm=a, input_id=t) for a in arms for t in range(10**6,10**6+20)], batch_size=1000)
    print("many", clock(), Cell.objects.count())
