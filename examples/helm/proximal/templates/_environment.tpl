{{/* The environment of the containers. Secrets are always references to a Secret. */}}

{{/*
A value as a string of YAML. A number stands in full, and not as 6.8e+10. Kubernetes replaces `$(NAME)` in a value and makes
`$` of `$$`, so each `$` is doubled.
*/}}
{{- define "proximal.value" -}}
{{- $text := . -}}
{{- if not (kindIs "string" .) -}}{{- $text = toJson . -}}{{- end -}}
{{- $text | replace "$" "$$" | toJson -}}
{{- end -}}

{{/* Whether the chart makes a Secret: something secret is among the values. */}}
{{- define "proximal.hasSecret" -}}
{{- if or .Values.database.url .Values.redis.url .Values.secrets.values -}}true{{- end -}}
{{- end -}}

{{/* The addresses among the values, as data of a Secret. */}}
{{- define "proximal.addressData" -}}
{{- with .Values.database.url }}
DATABASE_URL: {{ b64enc . | toJson }}
{{- end }}
{{- with .Values.redis.url }}
REDIS_URL: {{ b64enc . | toJson }}
{{- end }}
{{- end -}}

{{/* The data of the chart's Secret. */}}
{{- define "proximal.secretData" -}}
{{- include "proximal.addressData" . }}
{{- range $name, $value := .Values.secrets.values }}
{{ $name }}: {{ b64enc $value | toJson }}
{{- end }}
{{- end -}}

{{/* A variable from a Secret. Arguments: variable, secret, key, optional. */}}
{{- define "proximal.fromSecret" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret | toJson }}
      key: {{ .key | toJson }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end -}}

{{/* Every variable that may be in `secrets`; the second list is for workers only, because nothing else reads them. */}}
{{- define "proximal.secretNames" -}}
PROXIMAL_BLOB_ACCESS_KEY_ID PROXIMAL_BLOB_SECRET_ACCESS_KEY PROXIMAL_BLOB_SESSION_TOKEN PROXIMAL_S3_ACCESS_KEY_ID
{{- " " -}}
PROXIMAL_S3_SECRET_ACCESS_KEY PROXIMAL_METRICS_TOKEN PROXIMAL_JOIN_DATABASE_URL PROXIMAL_JOIN_REDIS_URL
{{- end -}}
{{- define "proximal.secretNamesOfWorkers" -}}HF_TOKEN{{- end -}}

{{/* The names under which the API is reached: the ingress, the Service inside the cluster, and those of the values. */}}
{{- define "proximal.hosts" -}}
{{- $service := printf "%s-api" (include "proximal.fullname" .) -}}
{{- $in := printf "%s.%s" $service .Release.Namespace -}}
{{- $own := list $service $in (printf "%s.svc" $in) (printf "%s.svc.cluster.local" $in) -}}
{{- $ingress := ternary (list .Values.ingress.host) list .Values.ingress.enabled -}}
{{- concat $ingress .Values.hosts $own | uniq | join " " -}}
{{- end -}}

{{/* The secret variables of a component, beside the two addresses. Arguments: root, component, secret. */}}
{{- define "proximal.otherSecrets" -}}
{{- $secrets := .root.Values.secrets -}}
{{- $names := include "proximal.secretNames" . | splitList " " -}}
{{- if has .component (list "worker" "data-worker") -}}
{{- $names = concat $names (include "proximal.secretNamesOfWorkers" . | splitList " ") -}}
{{- end -}}
{{- $secret := .secret -}}
{{- range $name := $names }}
{{- if $secrets.existingSecret }}
{{ include "proximal.fromSecret" (dict "variable" $name "secret" $secrets.existingSecret "key" $name "optional" true) }}
{{- else if hasKey $secrets.values $name }}
{{ include "proximal.fromSecret" (dict "variable" $name "secret" $secret "key" $name) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* An address. Arguments: variable, secret (the name of the chart's Secret), source (`database` or `redis` of the values). */}}
{{- define "proximal.address" -}}
{{- $own := dict "variable" .variable "secret" .secret "key" .variable -}}
{{- $theirs := dict "variable" .variable "secret" .source.existingSecret "key" .source.secretKey -}}
{{- ternary $theirs $own (ne .source.existingSecret "") | include "proximal.fromSecret" -}}
{{- end -}}

{{/* Arguments: root, component, secret (the name of the chart's Secret), variables (further ones, by name). */}}
{{- define "proximal.environment" -}}
{{- $values := .root.Values -}}
{{- include "proximal.address" (dict "variable" "DATABASE_URL" "secret" .secret "source" $values.database) }}
{{ include "proximal.address" (dict "variable" "REDIS_URL" "secret" .secret "source" $values.redis) }}
{{- if ne .component "migration" }}
{{- include "proximal.otherSecrets" . }}
{{- end }}
{{- $plain := dict "PROXIMAL_DATA_DIR" "/data" "PROXIMAL_BLOB_URL" (default "file:///blobs" $values.blobs.url) -}}
{{- $_ := set $plain "PROXIMAL_HOSTS" (include "proximal.hosts" .root) -}}
{{- with $values.trustedProxies -}}{{- $_ := set $plain "PROXIMAL_TRUSTED_PROXIES" (join " " .) -}}{{- end -}}
{{- range $more := list $values.settings .variables -}}
{{- range $name, $value := $more -}}{{- $_ := set $plain $name $value -}}{{- end -}}
{{- end -}}
{{- range $name := keys $plain | sortAlpha }}
- name: {{ $name }}
  value: {{ get $plain $name | include "proximal.value" }}
{{- end }}
{{- end -}}
