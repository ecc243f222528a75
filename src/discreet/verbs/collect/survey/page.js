// The page: it shows the questions, hands answers to randomise.js and sends what that gives back. Nothing else is sent.
import { below, randomise, step } from "./randomise.js";

const survey = JSON.parse(document.getElementById("survey").textContent);
const at = (id) => document.getElementById(id);
const all = survey.questions;
const asked = survey.share === "sampled" ? [all[Number(below(BigInt(all.length)))]] : all;
const readers = new Map();
let flipped = null; // what was not taken is sent again, with another code perhaps, and no coin is flipped twice

for (const question of asked) at("questions").append(shown(question));
at("flip").disabled = false;
at("flip").addEventListener("click", flip);
at("send").addEventListener("click", send);
at("code")?.addEventListener("input", () => flipped && show());

/** A question with its controls. There is no form: the browser itself can send nothing. */
function shown(question) {
  const box = made("fieldset", made("legend", question.text));
  box.dataset.question = question.name;
  if (question.steps) {
    const field = made("input");
    Object.assign(field, { type: "text", inputMode: "decimal", autocomplete: "off" });
    field.setAttribute("aria-label", question.text);
    const { low, high } = question.steps;
    const what = question.whole ? "whole number" : "number";
    const shape = question.whole ? /^\s*-?\d{1,15}\s*$/ : /^\s*-?\d{1,15}(\.\d{1,15})?\s*$/;
    box.append(field, hint(`A ${what} from ${low} to ${high}; one beyond counts as the nearer end.`));
    readers.set(question, () => (shape.test(field.value) ? step(question.steps, field.value) : null));
  } else {
    const choices = question.values.map((value) => {
      const field = made("input");
      Object.assign(field, { type: "radio", name: `of ${question.name}`, autocomplete: "off" });
      const label = made("label", field);
      label.append(` ${value}`);
      box.append(label);
      return field;
    });
    readers.set(question, () => {
      const place = choices.findIndex((field) => field.checked);
      return place < 0 ? null : place;
    });
  }
  box.append(hint(question.says));
  return box;
}

/** Randomise all answers, once, and show what would leave. */
function flip() {
  const places = asked.map((question) => readers.get(question)());
  const open = places.indexOf(null);
  if (open >= 0) return said(`Please answer: ${asked[open].text}`);
  if (code() === "") return said("Please give your one-time code.");
  const told = asked.map((question, place) => [question.name, randomise(question.how, places[place])]);
  const reports = Object.fromEntries(told);
  const id = Array.from({ length: 4 }, () => below(2n ** 32n).toString(16).padStart(8, "0")).join("");
  flipped = { survey: survey.fingerprint, id, reports };
  for (const field of document.querySelectorAll("input")) field.disabled = true;
  at("flip").disabled = true;
  show();
  at("leaving").hidden = false;
  at("send").focus();
  return said("The coins are flipped. Nothing has left this page yet.");
}

/** All that leaves. */
function body() { return { ...flipped, code: code() }; }

function code() { return survey.codes ? at("code").value.trim() : null; }

function show() { at("report").textContent = JSON.stringify(body(), null, 2); }

/** Send the reports, and nothing else. */
async function send() {
  at("send").disabled = true;
  if (survey.codes) at("code").disabled = true;
  try {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch("reports", { method: "POST", headers, body: JSON.stringify(body()) });
    const told = await answer.json();
    const other = answer.status === 403 && survey.codes; // a code that was mistyped: another, with the same reports
    if (other) at("code").disabled = false;
    if (!answer.ok) at("send").disabled = answer.status < 500 && !other;
    said(answer.ok ? "Received. Thank you!" : `${told.message} ${told.hint ?? ""}`);
  } catch {
    at("send").disabled = false;
    said("The report was not received. Please send it again: it stays the same.");
  }
}

function said(text) { at("said").textContent = text; }

function hint(text) {
  const line = made("p", text);
  line.className = "hint";
  return line;
}

function made(kind, ...inside) {
  const element = document.createElement(kind);
  element.append(...inside);
  return element;
}
