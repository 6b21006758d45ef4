FROM node:22-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/remove-stale.mjs scripts/
COPY src src
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM node:22-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
COPY manifests manifests
COPY policies policies
# The root may be read-only: the gate writes to its data folder alone. gate.yaml, manifests and policies
# are mounted at /gate; set GATE_DATA_DIR elsewhere to keep records elsewhere.
RUN mkdir -p /gate /data/records && chown -R node:node /data
USER node
WORKDIR /gate
VOLUME /data
ENV GATE_DATA_DIR=/data/records
ENV GATE_LISTENERS__DATA__HOST=0.0.0.0
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["node", "-e", "fetch('http://127.0.0.1:8081/livez').then((r)=>process.exit(r.ok?0:1),()=>process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["serve", "--config", "/gate/gate.yaml"]
