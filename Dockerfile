# docker build -t bursar . && docker run --interactive --rm --volume "$PWD:/work" --volume bursar:/data bursar
FROM python:3.13-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir uv \
    && useradd --create-home --uid 1000 bursar \
    && install --directory --owner bursar --group bursar --mode 700 /data /work
COPY . /src
RUN UV_TOOL_DIR=/opt UV_TOOL_BIN_DIR=/usr/local/bin \
    uv tool install --no-cache --compile-bytecode --constraints /src/requirements.lock "/src[sql]" && rm -rf /src
USER bursar
WORKDIR /work
VOLUME /data
ENTRYPOINT ["bursar"]
CMD ["--root", "/work", "--data-dir", "/data"]
