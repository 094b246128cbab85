# One static binary in an image without a shell, run as a user without rights.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG RELEASE=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=${RELEASE}" -o /ciclo ./cmd/ciclo

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /ciclo /ciclo
# Inside a container every address is the container's own; what is reachable
# from outside is what the host publishes.
ENV LISTEN=:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s CMD ["/ciclo", "healthcheck"]
ENTRYPOINT ["/ciclo"]
CMD ["serve"]
