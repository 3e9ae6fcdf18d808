{{/* The parts that all pods share: they mirror `x-platform` in docker-compose.yml. */}}

{{/* The metadata of a pod's template. A changed Secret replaces the pods. Arguments: root, component, checksum. */}}
{{- define "proximal.podMetadata" -}}
labels:
  {{- include "proximal.labels" . | nindent 2 }}
{{- $annotations := deepCopy .root.Values.podAnnotations -}}
{{- if include "proximal.hasSecret" .root -}}
{{- $_ := set $annotations "checksum/secret" (include "proximal.secretData" .root | sha256sum) -}}
{{- end -}}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
The fields of a pod. The process of the pause container reaps orphans, as `init: true` does in Compose. Without links to
Services, no Service of the namespace becomes a variable that begins with PROXIMAL_.
Arguments: root, account, token (whether the pod gets a token of the Kubernetes API), scheduling.
*/}}
{{- define "proximal.podFields" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: {{ default false .token }}
enableServiceLinks: false
shareProcessNamespace: true
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ toJson . }}
  {{- end }}
{{- end }}
{{- with .scheduling }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Arguments: root, image (`api` or `worker`). */}}
{{- define "proximal.containerFields" -}}
image: {{ include "proximal.image" (dict "root" .root "image" (get .root.Values.images .image)) | toJson }}
imagePullPolicy: {{ .root.Values.images.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* The folders of all pods that serve: /tmp, and the blobs if they are in a folder. */}}
{{- define "proximal.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if not .Values.blobs.url }}
- {name: blobs, mountPath: /blobs}
{{- end }}
{{- end -}}

{{- define "proximal.volumes" -}}
- name: tmp
  emptyDir: {}
{{- if not .Values.blobs.url }}
- name: blobs
  persistentVolumeClaim:
    claimName: {{ include "proximal.blobsClaim" . | toJson }}
{{- end }}
{{- end -}}

{{/* The folder for models of the hub, of workers and data workers. */}}
{{- define "proximal.modelsVolume" -}}
- name: models
  {{- with .Values.worker.models.existingClaim }}
  persistentVolumeClaim:
    claimName: {{ toJson . }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end -}}

{{/* The resources of a container with GPUs. Arguments: root, resources, gpus. */}}
{{- define "proximal.resources" -}}
{{- $resources := deepCopy .resources -}}
{{- if .gpus -}}
{{- $limits := merge (dict .root.Values.worker.gpuResource .gpus) (default dict $resources.limits) -}}
{{- $_ := set $resources "limits" $limits -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* Variables of Secrets that the operator names, whole. */}}
{{- define "proximal.environmentSecrets" -}}
{{- with .Values.worker.environmentSecrets -}}
envFrom:
  {{- range . }}
  - secretRef: {name: {{ toJson . }}}
  {{- end }}
{{- end -}}
{{- end -}}
