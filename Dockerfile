# The program as an image of its own: docker build -t hybridkv . && docker run --rm -v "$PWD:/data" hybridkv plan example
# What draws pictures (gnuplot) is left out: it is several times as large as all the rest.
FROM debian:bookworm-slim AS build
COPY . /source
WORKDIR /source
RUN .ci/install-packages \
 && cmake --preset release \
 && cmake --build --preset release --target hybridkv \
 && .ci/image-files /image build/release/hybridkv zstd

FROM scratch
COPY --from=build /image /
WORKDIR /data
ENTRYPOINT ["/usr/bin/hybridkv"]
