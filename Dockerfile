# One image for the web server, the worker and the clock; docker-compose.yml says which of them a container is.
FROM python:3.12-slim

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 AUDITAPP_DATA=/data
WORKDIR /app

# With scikit-learn, for the annotator that learns from codings; without it: requirements/base.txt.
COPY requirements/learn.txt requirements/learn.txt
RUN pip install --no-cache-dir --require-hashes --requirement requirements/learn.txt

# The code belongs to root and the app runs as somebody else, who can write to /data alone.
RUN useradd --system --uid 10001 --no-create-home auditapp && install -d -o auditapp -m 700 /data
COPY . .
# Who runs it can write no bytecode beside it, so that each process would compile it anew. pip has compiled what it installed.
RUN python -m compileall -q auditapp transcripts manage.py
USER auditapp
VOLUME /data
EXPOSE 8000

CMD ["python", "-m", "auditapp.site.serving", "--host", "0.0.0.0", "--port", "8000"]
