{{/* Names, labels and images. */}}

{{/* The beginning of all names: short enough for the longest, of a pod of the StatefulSet. */}}
{{- define "proximal.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $whole := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $whole .Values.fullnameOverride | replace "." "-" | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels that a Deployment and its pods have in common for ever. Arguments: root, component. */}}
{{- define "proximal.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | toJson }}
app.kubernetes.io/instance: {{ .root.Release.Name | toJson }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "proximal.labels" -}}
{{ include "proximal.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | toJson }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | toJson }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | toJson }}
{{- end -}}

{{/* Arguments: root, name. */}}
{{- define "proximal.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace | toJson }}
labels:
  {{- include "proximal.labels" . | nindent 2 }}
{{- end -}}

{{/* Arguments: root, image. */}}
{{- define "proximal.image" -}}
{{- if .image.digest -}}
{{ printf "%s@%s" .image.repository .image.digest }}
{{- else -}}
{{ printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) }}
{{- end -}}
{{- end -}}
