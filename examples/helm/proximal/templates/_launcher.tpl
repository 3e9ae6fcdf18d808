{{/* The launcher that creates Jobs in the namespace of the release. */}}

{{/* Its settings by the names of their variables, as JSON. Those of the values come last. */}}
{{- define "proximal.launcher" -}}
{{- $worker := .Values.worker -}}
{{- $settings := dict
  "PROXIMAL_KUBERNETES_NAMESPACE" .Release.Namespace
  "PROXIMAL_KUBERNETES_IMAGE" (include "proximal.image" (dict "root" . "image" .Values.images.worker))
  "PROXIMAL_KUBERNETES_CLAIM" (include "proximal.sharedRunsClaim" .)
  "PROXIMAL_KUBERNETES_SERVICE_ACCOUNT" (printf "%s-trainer" (include "proximal.fullname" .))
  "PROXIMAL_KUBERNETES_USER" 10001
-}}
{{- with $worker.models.existingClaim -}}
{{- $_ := set $settings "PROXIMAL_KUBERNETES_MODELS_CLAIM" . -}}
{{- end -}}
{{- with .Values.images.pullSecrets -}}
{{- $_ := set $settings "PROXIMAL_KUBERNETES_PULL_SECRETS" (join " " .) -}}
{{- end -}}
{{- with $worker.environmentSecrets -}}
{{- $_ := set $settings "PROXIMAL_KUBERNETES_SECRETS" (join " " .) -}}
{{- end -}}
{{- range $name, $value := $worker.kubernetes -}}{{- $_ := set $settings $name $value -}}{{- end -}}
{{- toJson $settings -}}
{{- end -}}
