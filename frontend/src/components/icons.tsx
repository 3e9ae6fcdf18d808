const stroke = {
  width: 16,
  height: 16,
  viewBox: "0 0 16 16",
  fill: "none",
  stroke: "currentColor",
  strokeWidth: 1.5,
  strokeLinecap: "round",
  strokeLinejoin: "round",
  "aria-hidden": true,
} as const;

export const SunIcon = () => (
  <svg {...stroke}>
    <circle cx="8" cy="8" r="3" />
    <path d="M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9" />
  </svg>
);
export const MoonIcon = () => (
  <svg {...stroke}>
    <path d="M13.5 9.5A5.8 5.8 0 0 1 6.5 2.5a5.8 5.8 0 1 0 7 7Z" />
  </svg>
);
export const AutoIcon = () => (
  <svg {...stroke}>
    <circle cx="8" cy="8" r="5.5" />
    <path d="M8 2.5v11a5.5 5.5 0 0 0 0-11Z" fill="currentColor" />
  </svg>
);
export const DownloadIcon = () => (
  <svg {...stroke}>
    <path d="M8 2v8M4.8 7.2 8 10.4l3.2-3.2M2.5 13.5h11" />
  </svg>
);
export const LeaveIcon = () => (
  <svg {...stroke}>
    <path d="M6.5 2.5h-3a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h3M10.5 11l3-3-3-3M13.2 8H6" />
  </svg>
);
export const UploadIcon = () => (
  <svg {...stroke} width={22} height={22}>
    <path d="M8 10.5v-8M4.8 5.7 8 2.5l3.2 3.2M2.5 13.5h11" />
  </svg>
);
export const PenIcon = () => (
  <svg {...stroke}>
    <path d="m10.5 3 2.5 2.5L5.5 13H3v-2.5zM9 4.5 11.5 7" />
  </svg>
);
export const LinkIcon = () => (
  <svg {...stroke}>
    <path d="M6.5 9.5a2.5 2.5 0 0 0 3.6.1l2.4-2.4a2.5 2.5 0 0 0-3.6-3.6l-1 1M9.5 6.5a2.5 2.5 0 0 0-3.6-.1L3.5 8.8a2.5 2.5 0 0 0 3.6 3.6l1-1" />
  </svg>
);
export const MarkIcon = () => (
  <svg width={24} height={24} viewBox="0 0 32 32" aria-hidden>
    <rect width="32" height="32" rx="7" fill="#1f5f54" />
    <path
      d="M6 23.5C11 23.5 12 9 17.5 9S22 14.5 26 14.5"
      fill="none"
      stroke="#fff"
      strokeWidth="2.6"
      strokeLinecap="round"
    />
    <path d="M6 8.5h20" stroke="#8fd3c4" strokeWidth="1.8" strokeLinecap="round" strokeDasharray="1 4.5" />
  </svg>
);
export const MoreIcon = () => (
  <svg {...stroke}>
    <circle cx="3" cy="8" r="0.75" fill="currentColor" />
    <circle cx="8" cy="8" r="0.75" fill="currentColor" />
    <circle cx="13" cy="8" r="0.75" fill="currentColor" />
  </svg>
);
export const SearchIcon = () => (
  <svg {...stroke}>
    <circle cx="7" cy="7" r="4.25" />
    <path d="m10.2 10.2 3.3 3.3" />
  </svg>
);
export const GearIcon = () => (
  <svg {...stroke}>
    <circle cx="8" cy="8" r="2" />
    <path d="M8 1.8v1.9M8 12.3v1.9M1.8 8h1.9M12.3 8h1.9M3.6 3.6l1.35 1.35M11.05 11.05l1.35 1.35M3.6 12.4l1.35-1.35M11.05 4.95l1.35-1.35" />
    <circle cx="8" cy="8" r="4.4" />
  </svg>
);
