// The pages. Those that carry a chart or graph library are loaded when they are first opened.

import { createHashRouter, Navigate } from "react-router";

import { JobPage } from "./jobs/JobPage";
import { JobsPage } from "./jobs/JobsPage";
import { ModelsPage } from "./models/ModelsPage";
import { RouteFailure } from "./parts/Failure";
import { Shell } from "./shell/Shell";

export const router = createHashRouter([
  {
    path: "/",
    element: <Shell />,
    errorElement: <RouteFailure />,
    children: [
      { index: true, element: <Navigate to="/jobs" replace /> },
      { path: "jobs", element: <JobsPage /> },
      { path: "jobs/:job", element: <JobPage /> },
      { path: "models", element: <ModelsPage /> },
      { path: "models/:model/:version?", lazy: () => import("./models/ModelPage") },
      { path: "artifacts/:digest", lazy: () => import("./models/ArtifactPage") },
      { path: "nodes", lazy: () => import("./nodes/NodesPage") },
      { path: "playground", lazy: () => import("./playground/PlaygroundPage") },
      { path: "profiles", lazy: () => import("./profiles/ProfilesPage") },
      { path: "profiles/:profile", lazy: () => import("./profiles/ProfilePage") },
      { path: "*", element: <RouteFailure /> },
    ],
  },
]);
