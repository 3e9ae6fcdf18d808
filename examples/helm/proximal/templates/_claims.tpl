{{/* The claims of the blobs, the run folders and the models. */}}

{{- define "proximal.blobsClaim" -}}
{{- default (printf "%s-blobs" (include "proximal.fullname" .)) .Values.blobs.claim.existing -}}
{{- end -}}

{{/* The claim of the run folders that all workers share; empty if each worker has its own. */}}
{{- define "proximal.sharedRunsClaim" -}}
{{- if .Values.worker.runs.existingClaim -}}
{{- .Values.worker.runs.existingClaim -}}
{{- else if eq .Values.worker.launcher "kubernetes" -}}
{{- printf "%s-runs" (include "proximal.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* Arguments: claim (with `size` and `storageClassName`), accessMode. */}}
{{- define "proximal.claimSpec" -}}
accessModes: [{{ .accessMode }}]
{{- with .claim.storageClassName }}
storageClassName: {{ toJson . }}
{{- end }}
resources:
  requests:
    storage: {{ toJson .claim.size }}
{{- end -}}
