/** Live knobs by name. `npm run generate` writes this file; do not edit it. */
export const KNOBS = {
  "learning_rate": {
    "label": "Learning rate",
    "unit": "peak, per step"
  },
  "critic_learning_rate": {
    "label": "Learning rate of the critic",
    "unit": "peak, per step"
  },
  "kl_coef": {
    "label": "KL coefficient",
    "unit": "β"
  },
  "kl_target": {
    "label": "KL target",
    "unit": "nats per response"
  }
} as const;
