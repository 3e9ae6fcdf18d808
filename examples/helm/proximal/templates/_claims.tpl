{{/* The claims of the blobs, the run folders and the models. */}}

{{- define "proximal.blobsClaim" -}}
{{- default (printf "%s-blobs" (include "proximal.fullname" .)) .Values.blobs.claim.existing -}}
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
